# frozen_string_literal: true

# A certificate with its chain and its key, read from PEM files and checked. Messages of errors name
# the file, what was found in it, and how to mend it.

require "neverblock/errors"

module NeverBlock
  module TLS
    # A certificate or key cannot be used. The message is one line.
    class Unusable < Error; end

    class Identity
      # What an address names: paths of PEM files, and where a passphrase comes from.
      # passphrase: [:env, NAME], [:command, LINE] or nil.
      Files = Struct.new(:cert, :key, :passphrase)

      CERTIFICATE = "-----BEGIN CERTIFICATE-----"
      KEY = /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.freeze
      ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/.freeze
      private_constant :CERTIFICATE, :KEY, :ENCRYPTED

      # @return [Array<String>] host names that the certificate is for, in lower case
      attr_reader :names
      # @return [String] PEM, the server's certificate first
      attr_reader :chain
      # @return [String] PEM without a passphrase
      attr_reader :key
      # @return [Time]
      attr_reader :not_before, :not_after

      # Blocks while it reads, and for a passphrase's command.
      # @param files [Files]
      # @return [Identity]
      # @raise [Unusable]
      def self.read(files)
        Reader.new(files).identity
      end

      # @param certificate [OpenSSL::X509::Certificate]
      # @param chain [String]
      # @param key [String]
      # @param files [Files, nil]
      def initialize(certificate, chain, key, files: nil)
        @names = Identity.names_of(certificate)
        @chain = chain
        @key = key
        @not_before = certificate.not_before
        @not_after = certificate.not_after
        @files = files
      end

      # @param now [Time]
      # @return [String, nil] a log line where clients will refuse the certificate for its dates, or
      #   will soon
      def warning(now = Time.now)
        return if @files.nil?

        if now > not_after
          "the certificate #{@files.cert} expired on #{day(not_after)}; clients refuse it"
        elsif now < not_before
          "the certificate #{@files.cert} is valid from #{day(not_before)} on; clients refuse it " \
            "until then"
        end
      end

      # The names of the subjectAltName extension; the common name where there is none.
      # @param certificate [OpenSSL::X509::Certificate]
      # @return [Array<String>]
      def self.names_of(certificate)
        extension = certificate.extensions.find { |one| one.oid == "subjectAltName" }
        names = extension ? extension.value.scan(/DNS:([^,\s]+)/).flatten : common_names(certificate)
        names.map(&:downcase).uniq
      end

      def self.common_names(certificate)
        certificate.subject.to_a.filter_map { |oid, value, _| value if oid == "CN" }
      end
      private_class_method :common_names

      private

      def day(time)
        time.getutc.strftime("%Y-%m-%d %H:%M UTC")
      end

      # Reads one pair of files.
      class Reader
        def initialize(files)
          @files = files
        end

        def identity
          Identity.require_openssl
          chain = text_of(@files.cert, "certificate")
          certificates = certificates_in(chain)
          key = key_in(@files.cert == @files.key ? chain : text_of(@files.key, "key"))
          mismatch unless certificates.first.check_private_key(key)
          Identity.new(certificates.first, certificates.map(&:to_pem).join, pem_of(key),
                       files: @files)
        end

        private

        def text_of(path, what)
          File.binread(path)
        rescue SystemCallError => e
          raise Unusable, "cannot read the #{what} #{path}: #{reason(e)}"
        end

        def reason(error)
          case error
          when Errno::ENOENT then "there is no such file"
          when Errno::EACCES then "user #{::Process.euid} may not read it"
          when Errno::EISDIR then "it is a folder"
          else error.message.lines.first.to_s.strip
          end
        end

        def certificates_in(text)
          unless text.include?(CERTIFICATE)
            raise Unusable, "#{@files.cert} has no certificate in PEM (a line #{CERTIFICATE})" \
                            "#{"; it has a private key" if text.match?(KEY)}"
          end

          parts = text.scan(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/m)
          raise Unusable, "#{@files.cert}: its certificate has no end" if parts.empty?

          parts.map.with_index(1) { |part, number| certificate(part, number) }
        end

        def certificate(part, number)
          OpenSSL::X509::Certificate.new(part)
        rescue OpenSSL::X509::CertificateError => e
          raise Unusable, "#{@files.cert}: its certificate number #{number} is broken " \
                          "(#{e.message})"
        end

        def key_in(text)
          locked = text.match?(ENCRYPTED)
          unless locked || text.match?(KEY)
            raise Unusable, "#{@files.key} has no private key in PEM (a line -----BEGIN PRIVATE " \
                            "KEY-----)#{"; it has a certificate" if text.include?(CERTIFICATE)}"
          end

          # Without a passphrase OpenSSL would ask for one on the terminal.
          found = OpenSSL::PKey.read(text, locked ? passphrase : "")
          found.private? ? found : broken_key(locked)
        rescue OpenSSL::PKey::PKeyError
          broken_key(locked)
        end

        def broken_key(locked)
          raise Unusable, "#{@files.key}: its private key is broken" unless locked

          raise Unusable, "#{@files.key}: the passphrase from #{origin} does not open it"
        end

        def passphrase
          kind, argument = @files.passphrase
          case kind
          when :env then of_environment(argument)
          when :command then of_command(argument)
          else
            raise Unusable, "#{@files.key} needs a passphrase; name where it is: " \
                            "passphrase_env=NAME or passphrase_command=COMMAND"
          end
        end

        def of_environment(name)
          ENV.fetch(name) do
            raise Unusable, "#{@files.key} needs a passphrase, and the environment variable " \
                            "#{name} is not set"
          end
        end

        def of_command(line)
          output = IO.popen(line, &:read)
          return output.chomp if $?.success?

          raise Unusable, "#{@files.key} needs a passphrase, and the command #{line.inspect} " \
                          "ended with status #{$?.exitstatus.inspect}"
        rescue SystemCallError => e
          raise Unusable, "#{@files.key} needs a passphrase, and the command #{line.inspect} " \
                          "cannot be run: #{e.message.lines.first.strip}"
        end

        def origin
          kind, argument = @files.passphrase
          kind == :env ? "the environment variable #{argument}" : "the command #{argument.inspect}"
        end

        def mismatch
          raise Unusable, "the key #{@files.key} does not belong to the certificate #{@files.cert}"
        end

        def pem_of(key)
          key.respond_to?(:private_to_pem) ? key.private_to_pem : key.to_pem
        end
      end
      private_constant :Reader

      # @raise [Unusable] where this Ruby has no openssl
      def self.require_openssl
        require "openssl"
      rescue LoadError
        raise Unusable, "https needs the gem openssl, which reads certificates; this Ruby has none"
      end
    end
  end
end
