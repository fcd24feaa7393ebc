# frozen_string_literal: true

# A certificate that an ACME server issues (RFC 8555), as `tls { acme }` names it: the host names,
# the server, and the folder where certificate and keys are kept.

require "neverblock/config/option"
require "neverblock/config/paths"
require "neverblock/config/suggestion"
require "neverblock/config/type"
require "neverblock/errors"
require "neverblock/tls/identity"

module NeverBlock
  class Config
    class Acme
      # Let's Encrypt's (https://letsencrypt.org/getting-started,
      # https://letsencrypt.org/docs/staging-environment).
      DIRECTORIES = {
        production: "https://acme-v02.api.letsencrypt.org/directory",
        staging: "https://acme-staging-v02.api.letsencrypt.org/directory"
      }.freeze
      # Most names of one certificate (https://letsencrypt.org/docs/rate-limits).
      NAMES_MAX = 100
      EXAMPLE = 'acme "example.org", "www.example.org", email: "me@example.org"'

      # A host name (RFC 1035 section 2.3.4, RFC 1123 section 2.1).
      LABEL = /[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?/.freeze
      NAME = /\A(?=.{1,253}\z)#{LABEL}(?:\.#{LABEL})*\z/.freeze
      ADDRESS = /\A[\d.]+\z|:/.freeze
      private_constant :LABEL, :NAME, :ADDRESS

      EMAIL = Type::Text.new(/\A[!-~]+@[!-~]+\z/, "an email address, such as \"me@example.org\"")
      URL = Type::Text.new(%r{\Ahttps://[^\s/?#]+\S*\z}, "an https:// URL")
      DIRECTORY = Type::Either.new(Type::Choice.new(*DIRECTORIES.keys), URL)
      CHALLENGE = Type::Choice.new(:both, :http_01, :tls_alpn_01)

      # The words after the names.
      WORDS = { email: EMAIL, directory: DIRECTORY, folder: Type::FilePath.new,
                ca: Type::FilePath.new, challenge: CHALLENGE }.freeze

      # @return [Array<String>] host names in lower case, the first of which names the files
      attr_reader :names
      # @return [String, nil] where the ACME server writes to
      attr_reader :email
      # @return [String] URL of the ACME server's directory
      attr_reader :directory
      # @return [String] absolute path of the folder for this ACME server
      attr_reader :folder
      # @return [String, nil] path of a file with the certificates that the ACME server itself is
      #   trusted by; nil: the system's
      attr_reader :ca
      # @return [Symbol] :both, :http_01 or :tls_alpn_01
      attr_reader :challenge

      # @param names [Array<String>]
      # @param what [String] the setting's name in error messages
      # @param env [Hash, ENV] names the default folder
      # @param words [Hash] see WORDS
      # @raise [ConfigError]
      def initialize(names, what: "acme", env: ENV, **words)
        @names = names.map { |name| checked(name, what) }.freeze
        check_count(what)
        words = words.to_h { |word, value| [word, read(word, value, what)] }
        @email = words[:email]
        directory = words.fetch(:directory, :production)
        @directory = DIRECTORIES.fetch(directory, directory)
        @folder = File.join(base(words[:folder], what, env), folder_name).freeze
        @ca = words[:ca] && Paths.expand(words[:ca])
        @challenge = words.fetch(:challenge, :both)
        freeze
      end

      # @return [TLS::Identity::Files] one file with the key and the certificates
      def files
        path = File.join(folder, "#{names.first}.pem")
        TLS::Identity::Files.new(path, path).freeze
      end

      # @return [String] for log lines
      def to_s
        names.join(", ")
      end

      # The folder where none is named: of the service (systemd.exec(5), StateDirectory=), or the
      # user's (XDG Base Directory Specification).
      # @return [String, nil] nil: there is no home folder
      def self.default_folder(env)
        service, state, home = env.values_at("STATE_DIRECTORY", "XDG_STATE_HOME",
                                             "HOME").map do |path|
          path.to_s.split(":").first
        end
        return File.join(service, "acme") if service
        return File.join(state, "neverblock", "acme") if state

        File.join(home, ".local", "state", "neverblock", "acme") if home
      end

      private

      def checked(name, what)
        refuse(what, "takes host names; got #{name.inspect}") unless name.is_a?(String)
        name = name.downcase.delete_suffix(".")
        refuse(what, "#{name.inspect}: #{fix(name)}") if !name.match?(NAME) || name.match?(ADDRESS)

        name.freeze
      end

      def fix(name)
        return "a wildcard needs the challenge DNS-01, which is not supported; name each host" if
          name.start_with?("*.")
        return "it is an address; a certificate is for host names" if name.match?(ADDRESS)

        "it is not a host name, such as \"www.example.org\""
      end

      def check_count(what)
        refuse(what, "takes host names, such as #{EXAMPLE}") if names.empty?
        twice = names.tally.find { |_, count| count > 1 }&.first
        refuse(what, "#{twice.inspect} is given twice") if twice
        return if names.size <= NAMES_MAX

        refuse(what, "a certificate has at most #{NAMES_MAX} names; got #{names.size}: write " \
                     "several acme lines")
      end

      def read(word, value, what)
        type = WORDS[word] or begin
          hint = Suggestion.for(word.to_s, WORDS.keys.map(&:to_s))
          hint = "; it takes #{WORDS.keys.join(", ")}" if hint.empty?
          refuse(what, "unknown word #{word}#{hint}")
        end
        type.read(value, "#{what} #{word}:")
      end

      def base(folder, what, env)
        folder ||= self.class.default_folder(env)
        return Paths.expand(folder) if folder

        refuse(what, "there is no home folder to keep certificates in; name one: folder: \"/path\"")
      end

      # Accounts and certificates of one ACME server are of no use at another.
      def folder_name
        directory.delete_prefix("https://").gsub(/[^\w.-]+/, "-")
      end

      def refuse(what, why)
        raise ConfigError, "#{what}: #{why}"
      end

      # The value of the setting `acme`.
      class Line < Type
        def read(value, what)
          return value if value.is_a?(Acme)

          names, words = value
          Acme.new(names, what: what, **words)
        end

        def check_after(others, acme, what)
          twice = others.flat_map(&:names).find { |name| acme.names.include?(name) }
          raise ConfigError, "#{what}: #{twice.inspect} is given twice" if twice
        end

        def to_s
          "host names, and the words #{WORDS.keys.join(", ")}"
        end

        private

        def join(words, keywords, _what)
          [words, keywords]
        end
      end
    end
  end
end
