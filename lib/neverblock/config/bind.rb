# frozen_string_literal: true

# One address to listen on, read from a URL: http://HOST:PORT, http://[::1]:PORT or unix:///PATH?mode=0660. Reading checks everything that
# can be checked without asking the system; names are resolved when the server listens.

require "neverblock/config/type"
require "neverblock/errors"

module NeverBlock
  class Config
    class Bind
      # Bytes of a path in sockaddr_un, less the NUL (unix(7)); macOS and the BSDs have 103.
      PATH_BYTES_MAX = RUBY_PLATFORM.include?("linux") ? 107 : 103
      MODE_MAX = 0o777
      PORT_MAX = 65_535
      PORT = Type::Whole.new(0..PORT_MAX)
      FORMS = "http://HOST:PORT, http://[IPV6]:PORT or unix:///PATH?mode=0660"

      AUTHORITY = /\A(?:\[(?<ipv6>[0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|(?<host>[^:\[\]@]*))(?::(?<port>[^:]*))?\z/

      # @param text [String] a URL in one of FORMS
      # @param task [String] what it is read for, to complete "cannot"
      # @return [Bind]
      # @raise [ConfigError] with the mend where there is an obvious one
      def self.parse(text, task = "bind to")
        return text if text.is_a?(Bind)

        Parser.new(text.to_s, task).bind
      end

      # @return [Symbol] :http or :unix
      attr_reader :scheme
      # @return [String, nil] a name or an address, without brackets
      attr_reader :host
      # @return [Integer, nil] 0: any free port
      attr_reader :port
      # @return [String, nil]
      attr_reader :path
      # @return [Integer] permission bits of the socket file; 0: what the umask leaves
      attr_reader :mode

      def initialize(scheme:, host: nil, port: nil, path: nil, mode: 0)
        @scheme = scheme
        @host = host
        @port = port
        @path = path
        @mode = mode
        freeze
      end

      def unix?
        scheme == :unix
      end

      # @param host [String] the address it became
      # @param port [Integer] the port it became
      # @return [String] the URL to give to a client
      def url(host = @host, port = @port)
        return "unix://#{path}" if unix?

        host.include?(":") ? "http://[#{host}]:#{port}" : "http://#{host}:#{port}"
      end
      alias to_s url

      def ==(other)
        other.is_a?(Bind) && [scheme, host, port, path, mode] == [other.scheme, other.host, other.port, other.path, other.mode]
      end

      # Reads one URL. An object only so that every complaint can quote what was given.
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
          when "https" then raise NotYetError, "#{@text}: https does not work yet; put a proxy that speaks TLS in front and bind http:// behind it"
          when "tcp" then refuse("write http:// for tcp://")
          else refuse("the scheme #{scheme.inspect} is not one of http, unix")
          end
        end

        private

        def tcp(rest)
          authority, slash, tail = rest.partition("/")
          authority, question, = authority.partition("?")
          refuse("it names a host and a port, and nothing after them") unless tail.empty? && question.empty? && (slash.empty? || tail.empty?)

          parts = AUTHORITY.match(authority) or refuse(ipv6_without_brackets?(authority) ? "write an IPv6 address in brackets: http://[::1]:9292" : allowed)
          host = host_of(parts)
          Bind.new(scheme: :http, host: host, port: port_of(parts[:port], host))
        end

        def host_of(parts)
          host = parts[:ipv6] || parts[:host]
          refuse("the host is missing: 127.0.0.1 is this machine alone, 0.0.0.0 all IPv4 addresses, [::] all IPv6 ones") if host.empty?
          refuse("write 0.0.0.0 for all IPv4 addresses, [::] for all IPv6 ones") if host == "*"
          refuse("the host #{host.inspect} has characters no host has") if parts[:host] && !host.match?(/\A[\w.-]+\z/)

          host
        end

        def port_of(text, host)
          refuse("the port is missing: http://#{host.include?(":") ? "[#{host}]" : host}:9292") if text.nil? || text.empty?

          PORT.read(text, "#{@text}: the port")
        end

        def unix(rest)
          path, _, query = rest.partition("?")
          refuse("three slashes: unix:///#{path}") unless path.start_with?("/")

          path = path.gsub(/%(\h\h)/) { Regexp.last_match(1).hex.chr }
          refuse("the path has a NUL") if path.include?("\0")
          refuse("the path names a directory") if path.end_with?("/")
          if path.bytesize > PATH_BYTES_MAX
            refuse("the path has #{path.bytesize} bytes and the system takes #{PATH_BYTES_MAX}: choose a shorter one, such as /run/NAME.sock")
          end
          Bind.new(scheme: :unix, path: path, mode: mode_of(query))
        end

        def mode_of(query)
          query.split("&").inject(0) do |_mode, pair|
            name, _, value = pair.partition("=")
            refuse("unknown parameter #{name.inspect}; a UNIX socket takes mode") unless name == "mode"
            unless value.match?(/\A[0-7]{3,4}\z/) && value.to_i(8).between?(1, MODE_MAX)
              refuse("mode takes permission bits in octal, 0600 to 0777; seen #{value.inspect}")
            end
            value.to_i(8)
          end
        end

        def without_scheme
          return refuse("three slashes: unix:///#{@text.delete_prefix("unix:").delete_prefix("/")}") if @text.start_with?("unix:")
          return refuse("write unix://#{@text}") if @text.start_with?("/")
          return refuse("write http://0.0.0.0#{@text}") if @text.match?(/\A:\d+\z/)
          return refuse("write http://127.0.0.1:#{@text}, or -p #{@text}") if @text.match?(/\A\d+\z/)
          return refuse("write http://#{@text}") if @text.match?(/\A(\[[\h:.]+\]|[\w.-]+):\d+\z/)

          refuse(allowed)
        end

        def ipv6_without_brackets?(authority)
          authority.count(":") > 1 && authority.match?(/\A[\h:.]+\z/)
        end

        def allowed
          "an address is #{FORMS}"
        end

        def refuse(mend)
          raise ConfigError, "cannot #{@task} #{@text.inspect}: #{mend}"
        end
      end
      private_constant :Parser
    end
  end
end
