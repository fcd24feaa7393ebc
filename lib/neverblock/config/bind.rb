# frozen_string_literal: true

# One address to listen on, read from a URL: http://HOST:PORT, https://HOST:PORT?cert=F&key=F,
# http://[::1]:PORT or unix:///PATH?mode=0660; each takes proxy_protocol=on. Reading checks
# everything that needs no system call. Names are resolved, and files read, when the server listens.

require "neverblock/config/certificates"
require "neverblock/config/percent"
require "neverblock/config/type"
require "neverblock/errors"

module NeverBlock
  class Config
    class Bind
      # Longest path in sockaddr_un, without its NUL: unix(7); macOS and the BSDs take 103 bytes.
      PATH_BYTES_MAX = RUBY_PLATFORM.include?("linux") ? 107 : 103
      MODE_MAX = 0o777
      PORT_MAX = 65_535
      PORT = Type::Whole.new(0..PORT_MAX)
      FORMS = "http://HOST:PORT, https://HOST:PORT?cert=FILE&key=FILE, http://[IPV6]:PORT " \
              "or unix:///PATH?mode=0660"
      # Of the admin pages.
      PLAIN_FORMS = "http://HOST:PORT, http://[IPV6]:PORT or unix:///PATH?mode=0660"

      AUTHORITY = /\A
        (?:\[(?<ipv6>[0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|(?<host>[^:\[\]@]*))
        (?::(?<port>[^:]*))?
      \z/x.freeze

      # @param text [String] a URL in one of FORMS
      # @param task [String] the verb of the error message, after "cannot"
      # @return [Bind]
      # @raise [ConfigError] with the fix where there is an obvious one
      def self.parse(text, task = "bind to")
        return text if text.is_a?(Bind)

        Parser.new(text.to_s, task).bind
      end

      # @param text [String] the URL of admin pages, which have no TLS
      # @param task [String]
      # @return [Bind]
      # @raise [ConfigError]
      def self.parse_plain(text, task = "bind to")
        bind = parse(text, task)
        lack = "no TLS" if bind.https?
        lack ||= "no PROXY protocol" if bind.proxied
        return bind unless lack

        raise ConfigError, "cannot #{task} #{text.to_s.inspect}: the admin pages have #{lack}; " \
                           "an address of theirs must be #{PLAIN_FORMS}"
      end

      # @return [Symbol] :http, :https or :unix
      attr_reader :scheme
      # @return [String, nil] a name or an address, without brackets
      attr_reader :host
      # @return [Integer, nil] 0: any free port
      attr_reader :port
      # @return [String, nil]
      attr_reader :path
      # @return [Integer] permission bits of the socket file; 0: those that the umask leaves
      attr_reader :mode
      # @return [Array<TLS::Identity::Files>] certificates of an https address; empty: one for
      #   development is made
      attr_reader :identities
      # @return [Symbol, nil] of an https address: :none, :optional or :required; nil: as
      #   `tls { verify }` says
      attr_reader :verify
      # @return [String, nil] of an https address: its file of authorities; nil: that of `tls { }`
      attr_reader :authorities
      # @return [Boolean] whether its connections begin with a header of the PROXY protocol
      attr_reader :proxied

      def initialize(scheme:, host: nil, port: nil, path: nil, mode: 0, identities: [],
                     verify: nil, authorities: nil, proxied: false)
        @scheme = scheme
        @host = host
        @port = port
        @path = path
        @mode = mode
        @identities = identities.freeze
        @verify = verify
        @authorities = authorities
        @proxied = proxied
        freeze
      end

      def unix?
        scheme == :unix
      end

      def https?
        scheme == :https
      end

      # @param host [String] the resolved address
      # @param port [Integer] the real port
      # @return [String] the URL to give to a client
      def url(host = @host, port = @port)
        return "unix://#{path}" if unix?

        host.include?(":") ? "#{scheme}://[#{host}]:#{port}" : "#{scheme}://#{host}:#{port}"
      end
      alias to_s url

      def ==(other)
        other.is_a?(Bind) && identity == other.identity
      end

      EVERY_IPV4 = "0.0.0.0"
      EVERY_IPV6 = "::"
      LOOPBACK = { "localhost" => %w[127.0.0.1 ::1] }.freeze
      private_constant :EVERY_IPV4, :EVERY_IPV6, :LOOPBACK

      # @param other [Bind]
      # @return [Boolean] whether both cannot be listened on, as far as their texts tell
      def overlaps?(other)
        return path == other.path if unix? || other.unix?
        return false if port.zero? || port != other.port

        mine, theirs = [host, other.host].map { |name| LOOPBACK.fetch(name, [name]) }
        mine.intersect?(theirs) || every?(mine, theirs) || every?(theirs, mine)
      end

      # @return [Array] what makes two addresses equal
      def identity
        [scheme, host, port, path, mode, identities, verify, authorities, proxied]
      end

      private

      def every?(hosts, others)
        ipv6, ipv4 = others.partition { |name| name.include?(":") }
        hosts.include?(EVERY_IPV4) ? ipv4.any? : hosts.include?(EVERY_IPV6) && ipv6.any?
      end

      # Reads one URL. An object, so that every error message can quote the URL.
      class Parser
        def initialize(text, task)
          @text = text
          @task = task
        end

        def bind
          scheme, separator, rest = @text.partition("://")
          return without_scheme if separator.empty?

          case scheme
          when "http" then tcp(rest)
          when "unix" then unix(rest)
          when "https" then https(rest)
          when "tcp" then refuse("write http:// for tcp://")
          else refuse("the scheme #{scheme.inspect} is unknown; known are http, https and unix")
          end
        end

        private

        NO_HOST = "the host is missing; 127.0.0.1 is this machine alone, 0.0.0.0 is every IPv4 " \
                  "address, [::] every IPv6 address"
        NO_BRACKETS = "write an IPv6 address in brackets: http://[::1]:9292"
        PROXY_PROTOCOL = "proxy_protocol"
        private_constant :NO_HOST, :NO_BRACKETS, :PROXY_PROTOCOL

        def tcp(rest)
          authority, _, tail = rest.partition("/")
          authority, question, query = authority.partition("?")
          refuse("write https:// where there is a certificate") if query.start_with?("cert=")
          proxied, query = split_proxied(query)
          unless tail.empty? && (question.empty? || proxied || !query.empty?)
            refuse("an address ends with its port; remove what follows it")
          end
          unless query.empty?
            refuse("unknown parameter #{query.partition("=").first.inspect}; " \
                   "an http address takes #{PROXY_PROTOCOL}")
          end

          parts = parts_of(authority)
          host = host_of(parts)
          Bind.new(scheme: :http, host: host, port: port_of(parts[:port], host),
                   proxied: proxied == "on")
        end

        def https(rest)
          authority, _, query = rest.partition("?")
          refuse("a path has no meaning here; write ?cert=FILE&key=FILE") if authority.include?("/")

          parts = parts_of(authority)
          host = host_of(parts)
          port = port_of(parts[:port], host)
          proxied, query = split_proxied(query)
          words = Certificates.new(query, method(:refuse))
          Bind.new(scheme: :https, host: host, port: port, identities: words.identities,
                   verify: words.verify, authorities: words.authorities, proxied: proxied == "on")
        end

        # @return [Array(String, String)] the value of proxy_protocol, nil where it is not there;
        #   the other parameters
        def split_proxied(query)
          mine, others = query.split("&").partition do |pair|
            pair.partition("=").first == PROXY_PROTOCOL
          end
          value = mine.last&.partition("=")&.last
          unless [nil, "on", "off"].include?(value)
            refuse("#{PROXY_PROTOCOL} must be on or off; got #{value.inspect}")
          end

          [value, others.join("&")]
        end

        def parts_of(authority)
          AUTHORITY.match(authority) or
            refuse(ipv6_without_brackets?(authority) ? NO_BRACKETS : allowed)
        end

        def host_of(parts)
          host = parts[:ipv6] || parts[:host]
          refuse(NO_HOST) if host.empty?
          refuse("write 0.0.0.0 for all IPv4 addresses, [::] for all IPv6 ones") if host == "*"
          if parts[:host] && !host.match?(/\A[\w.-]+\z/)
            refuse("the host #{host.inspect} has characters that a host name cannot have")
          end

          host
        end

        def port_of(text, host)
          if text.nil? || text.empty?
            scheme = @text.partition("://").first
            shown = host.include?(":") ? "[#{host}]" : host
            refuse("the port is missing: #{scheme}://#{shown}:9292")
          end

          PORT.read(text, "#{@text}: the port")
        end

        def unix(rest)
          path, _, query = rest.partition("?")
          refuse_relative(path) unless path.start_with?("/")

          path = Percent.decode(path)
          refuse("the path has a NUL byte") if path.include?("\0")
          refuse("the path names a directory") if path.end_with?("/")
          if path.bytesize > PATH_BYTES_MAX
            refuse("the path has #{path.bytesize} bytes, the system allows #{PATH_BYTES_MAX}; " \
                   "choose a shorter one, such as /run/NAME.sock")
          end
          proxied, query = split_proxied(query)
          Bind.new(scheme: :unix, path: path, mode: mode_of(query), proxied: proxied == "on")
        end

        def mode_of(query)
          query.split("&").inject(0) do |_mode, pair|
            name, _, value = pair.partition("=")
            unless name == "mode"
              refuse("unknown parameter #{name.inspect}; a UNIX socket takes mode " \
                     "and proxy_protocol")
            end
            unless value.match?(/\A[0-7]{3,4}\z/) && value.to_i(8).between?(1, MODE_MAX)
              refuse("mode must be permission bits in octal, 0600 to 0777; got #{value.inspect}")
            end
            value.to_i(8)
          end
        end

        def without_scheme
          if @text.start_with?("unix:")
            refuse_relative(@text.delete_prefix("unix:").delete_prefix("/"))
          end
          refuse("write unix://#{@text}") if @text.start_with?("/")
          refuse("write http://0.0.0.0#{@text}") if @text.match?(/\A:\d+\z/)
          refuse("write http://127.0.0.1:#{@text}") if @text.match?(/\A\d+\z/)
          refuse("write http://#{@text}") if @text.match?(/\A(\[[\h:.]+\]|[\w.-]+):\d+\z/)

          refuse(allowed)
        end

        def refuse_relative(path)
          refuse("write three slashes: unix:///#{path}; for a file of this folder " \
                 "unix://#{File.expand_path(path)}")
        end

        def ipv6_without_brackets?(authority)
          authority.count(":") > 1 && authority.match?(/\A[\h:.]+\z/)
        end

        def allowed
          "an address must be #{FORMS}"
        end

        def refuse(fix)
          raise ConfigError, "cannot #{@task} #{@text.inspect}: #{fix}"
        end
      end
      private_constant :Parser
    end
  end
end
