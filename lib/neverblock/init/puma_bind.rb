# frozen_string_literal: true

require "neverblock/config/percent"
require "neverblock/init/translation"

module NeverBlock
  module Init
    # `bind` and `ssl_bind` of Puma as addresses of ours.
    class PumaBind
      # In Puma's words and ours.
      VERIFY = { "none" => nil, "peer" => "optional", "force_peer" => "required" }.freeze
      # Parameters that are settings of the whole server here, or that nothing has to be said of.
      LEFT = {
        "low_latency" => "TCP_NODELAY is on",
        "optimize_sockets_for_latency" => "TCP_NODELAY is on",
        "ssl_cipher_filter" => "see tls { ciphers }", "ssl_ciphersuites" => "see tls { suites }",
        "no_tlsv1" => "TLS 1.0 is off", "no_tlsv1_1" => "TLS 1.1 is off",
        "keystore" => "only PEM files are read", "keystore_pass" => "only PEM files are read"
      }.freeze

      UNREAD = "the parameters cannot be read here, and may ask for client certificates: write " \
               "bind \"https://HOST:PORT?cert=FILE&key=FILE&verify=required&ca=FILE\""
      VERIFY_UNREAD = "what verify_mode is cannot be read here, and with another one client " \
                      "certificates are not asked for: write bind \"https://HOST:PORT?...&" \
                      "verify=required&ca=FILE\", or verify=optional for peer"

      COMMAND = "key_password_command"
      PATHS = %w[cert key ca].freeze
      # Code inside of a String.
      CODE = /(\#\{[^{}]*\})/.freeze
      ABSTRACT = "sockets have a path here: bind \"unix:///run/NAME.sock?mode=0666\""
      MODE = "the permissions cannot be read here: write bind \"unix:///PATH?mode=0660\", with " \
             "0600 to 0777"

      class << self
        # @param statement [Statement] ssl_bind HOST, PORT, cert: FILE, key: FILE
        # @return [Translation]
        def of_ssl_bind(statement)
          host, port, *others = statement.arguments
          return Translation.missing(UNREAD) if others.any? || statement.text.include?("**")

          options = statement.options.to_h do |name, text|
            path = statement.literal(text) if PATHS.include?(name)
            [name, path ? Config::Percent.encode(path) : RubyText.inside(text)]
          end
          new(statement).tls(RubyText.host(host), RubyText.inside(port || "9292"), options)
        end
      end

      def initialize(statement)
        @text = statement.argument.to_s
        @notes = []
      end

      # @return [Translation]
      def translation
        address = @text[/\A(["'])(.*)\1\z/m, 2]
        return by_replacing unless address

        scheme, rest = address.match(%r{\A(\w+)://(.*)\z}m)&.captures
        place, query = rest.to_s.split("?", 2)
        options = query.to_s.split("&").to_h { |pair| pair.partition("=").values_at(0, 2) }
        case scheme
        when "tcp" then tcp(place, options)
        when "unix" then unix(place, options)
        when "ssl" then tls(*split(place), decoded(options))
        else Translation.missing("an address is http://HOST:PORT, https://HOST:PORT or " \
                                 "unix:///PATH here")
        end
      end

      # @param host [String] as inside of a String
      # @param port [String] as inside of a String
      # @param options [Hash{String => String}] the same
      # @return [Translation]
      def tls(host, port, options)
        return Translation.missing(UNREAD) unless options.keys.all?(/\A\w+\z/)

        mode = options.delete("verify_mode") { "none" }
        return Translation.missing(VERIFY_UNREAD) unless VERIFY.key?(mode)

        words = { **options.slice("cert", "key"), **passphrase(options.delete(COMMAND)),
                  **clients(VERIFY[mode], options["ca"]) }
        backlog = options.delete("backlog")
        leave(options.except("cert", "key", "ca"))
        query = words.map { |name, value| "#{name}=#{value}" }.join("&")
        Translation.carried("bind \"https://#{host}:#{port}#{"?#{query}" unless query.empty?}\"",
                            *("backlog #{backlog}" if backlog), note: note)
      end

      private

      # An expression: what it gives is not known before it runs.
      def by_replacing
        value = @text.match?(/\A[\w.\[\]"'()]+\z/) ? " #{@text}" : "((#{@text})"
        close = ")" if value.start_with?("(")
        Translation.carried("bind#{value}.sub(%r{\\Atcp://}, \"http://\")#{close}",
                            note: "Puma's tcp:// is http:// here; ssl:// would be https://, and " \
                                  "?mode=0777 lets everybody use a socket, as in Puma")
      end

      def tcp(place, options)
        backlog = options.delete("backlog")
        leave(options)
        Translation.carried("bind \"http://#{place}\"",
                            *("backlog #{backlog}" if backlog), note: note)
      end

      def unix(place, options)
        return Translation.missing(ABSTRACT) if place.start_with?("@")

        mode = mode_of(options.delete("mode"), options.delete("umask"))
        return Translation.missing(MODE) unless mode

        backlog = options.delete("backlog")
        leave(options)
        Translation.carried("bind #{RubyText.socket(place, mode)}",
                            *("backlog #{backlog}" if backlog), note: note)
      end

      # A socket of Puma's is everybody's where nothing is said. A mask is a number of Ruby's.
      def mode_of(mode, mask)
        return mode.rjust(4, "0") if mode&.match?(/\A0?[67][0-7]{2}\z/)
        return if mode

        number = Integer(mask || "0", exception: false) or return
        left = 0o777 & ~number
        format("0%o", left) if left >= 0o600
      end

      # A command is encoded in an address.
      def passphrase(command)
        return {} unless command

        if command.include?("\#{")
          @notes << "#{COMMAND} is passphrase_command=COMMAND here, after key=FILE"
          return {}
        end
        { "passphrase_command" => Config::Percent.encode(command) }
      end

      # What an address says of the certificates of clients.
      def clients(verify, authorities)
        @notes << "no client is asked for a certificate; ca is left out" if authorities && !verify
        verify ? { "verify" => verify, "ca" => authorities }.compact : {}
      end

      def split(place)
        host, _, port = place.rpartition(":")
        [host, port]
      end

      def decoded(options)
        options.to_h do |name, text|
          text = decode(text) if name == COMMAND
          text = path(text) if PATHS.include?(name)
          [name, text]
        end
      end

      def decode(text) = Config::Percent.decode(text.tr("+", " "))

      # A plus sign is a space there, and itself here.
      def path(text)
        return text if text.gsub(CODE, "").match?(/[{}]/)

        parts = text.split(CODE)
        parts.map { |part|
          part.match?(CODE) ? part : Config::Percent.encode(decode(part))
        }.join
      end

      def leave(options)
        options.each_key do |name|
          @notes << (LEFT.key?(name) ? "#{name}: #{LEFT[name]}" : "#{name} has no counterpart")
        end
      end

      def note = @notes.empty? ? nil : @notes.join("; ")
    end
  end
end
