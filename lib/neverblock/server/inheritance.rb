# frozen_string_literal: true

# Listening sockets that this process was started with: by the server that it is to replace
# (Server::Upgrade), by itself before it started again, or by systemd (sd_listen_fds(3)). The
# addresses of the configuration take them.

require "json"
require "socket"

module NeverBlock
  class Server
    class Inheritance
      # The variable by which a NeverBlock passes them on: JSON with the members
      #
      #   fds         [Integer] listening sockets
      #   keeps_paths whether their socket files are another program's to remove
      #   pid         the server that is to be replaced; null: none
      #   report      Integer, the descriptor of the pipe to it
      VARIABLE = "NEVERBLOCK_SOCKETS"
      SYSTEMD = %w[LISTEN_PID LISTEN_FDS LISTEN_FDNAMES].freeze
      # The first descriptor that systemd passes (SD_LISTEN_FDS_START).
      SYSTEMD_FIRST = 3

      # What the replaced server reads in the pipe.
      READY = "ready"
      FAILED = "failed"

      # A socket and where it listens.
      Listener = Struct.new(:fd, :address) do
        def tcp?(host, port)
          address.ip? && address.ip_address == host && [0, address.ip_port].include?(port)
        end

        # A socket of IPv6 takes connections of IPv4 too, unless it was told not to: systemd makes
        # such ones.
        def every_address?(port)
          address.ipv6? && address.ip_address == "::" && [0, address.ip_port].include?(port)
        end

        def unix?(path)
          address.unix? && address.unix_path == path
        end

        def to_s
          address.unix? ? "unix://#{address.unix_path}" : address.inspect_sockaddr
        end
      end

      # @return [Integer, nil] id of the server that this process replaces
      attr_reader :predecessor

      # Takes what the environment tells of, and removes it from there: child processes have none of
      # it.
      # @param env [Hash, ENV]
      # @return [Inheritance]
      def self.take(env = ENV)
        passed = env.delete(VARIABLE)
        pid, count, = SYSTEMD.map { |name| env.delete(name) }
        return new(**JSON.parse(passed, symbolize_names: true)) if passed
        return new unless pid == ::Process.pid.to_s

        new(fds: Array.new(count.to_i) { |number| SYSTEMD_FIRST + number }, keeps_paths: true)
      rescue JSON::ParserError, ArgumentError, TypeError
        new
      end

      # @param fds [Array<Integer>]
      # @param keeps_paths [Boolean]
      # @param pid [Integer, nil]
      # @param report [Integer, nil]
      def initialize(fds: [], keeps_paths: false, pid: nil, report: nil)
        @keeps_paths = keeps_paths
        @predecessor = pid
        @report = writer(report) if report
        @listeners = fds.filter_map { |fd| listener(fd) }
      end

      # @return [Boolean] whether their socket files are another program's to remove
      def keeps_paths?
        @keeps_paths
      end

      # @param host [String] numeric address
      # @param port [Integer] 0: any
      # @return [Integer, nil] a descriptor, which is the caller's; nil: none listens there
      def tcp(host, port)
        take { |listener| listener.tcp?(host, port) } ||
          (take { |listener| listener.every_address?(port) } if host == "0.0.0.0")
      end

      # @param path [String]
      # @return [Integer, nil] as #tcp
      def unix(path)
        take { |listener| listener.unix?(path) }
      end

      # Closes the sockets that no address has taken.
      # @return [Array<String>] log lines about them
      def close_rest
        lines = @listeners.map do |listener|
          IO.for_fd(listener.fd).close
          "a socket that listens at #{listener} was passed to this process, and no address of " \
            "its configuration is that one; it is closed"
        end
        @listeners = []
        lines
      end

      # Tells the replaced server that this one serves.
      # @return [void]
      def ready
        tell(READY)
      end

      # Tells the replaced server why this one does not start.
      # @param message [String]
      # @return [void]
      def failed(message)
        tell("#{FAILED} #{message.to_s.lines.first.to_s.chomp}")
      end

      private

      def take
        found = @listeners.find { |listener| yield listener } or return
        @listeners.delete(found)
        found.fd
      end

      def listener(fd)
        socket = Socket.for_fd(fd)
        socket.autoclose = false
        socket.close_on_exec = true
        listens = socket.getsockopt(:SOCKET, :ACCEPTCONN).bool
        Listener.new(fd, socket.local_address) if listens
      rescue SystemCallError, SocketError
        nil # it is no socket
      end

      def writer(fd)
        IO.for_fd(fd, "w").tap { |pipe| pipe.close_on_exec = true }
      rescue SystemCallError, ArgumentError
        nil
      end

      def tell(line)
        @report&.write("#{line}\n")
      rescue SystemCallError # the other has ended
        nil
      ensure
        @report&.close
        @report = nil
      end
    end
  end
end
