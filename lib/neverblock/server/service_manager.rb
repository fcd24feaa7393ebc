# frozen_string_literal: true

# Tells systemd what this process does: sd_notify(3), for units with `Type=notify` and WatchdogSec.
# Without NOTIFY_SOCKET in the environment nothing is done. A manager that does not listen, or does
# not read, keeps nobody.

require "socket"

module NeverBlock
  class Server
    class ServiceManager
      # @param env [Hash, ENV]
      # @return [ServiceManager]
      def self.of(env = ENV)
        watched = env["WATCHDOG_PID"].nil? || env["WATCHDOG_PID"] == ::Process.pid.to_s
        microseconds = watched ? env["WATCHDOG_USEC"].to_i : 0
        new(env["NOTIFY_SOCKET"], alive_every_s: microseconds / 2_000_000.0)
      end

      # @param path [String, nil] of its datagram socket; with "@" at its beginning a name in the
      #   abstract namespace of Linux (unix(7))
      # @param alive_every_s [Numeric] seconds between two signs of life; 0: none are wanted
      def initialize(path, alive_every_s: 0)
        @path = path if path.to_s.start_with?("/", "@")
        @alive_every_s = alive_every_s
      end

      # The server takes connections.
      # @param urls [Array<String>]
      # @return [void]
      def ready(urls)
        tell("READY=1\nSTATUS=Listening on #{urls.join(", ")}")
        live if @path && @alive_every_s.positive?
      end

      # It drains, and ends.
      # @return [void]
      def stopping
        tell("STOPPING=1\nSTATUS=Draining: no new connections, running requests end")
      end

      # It drains, and begins again as the same process.
      # @return [void]
      def restarting
        microseconds = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :microsecond)
        tell("RELOADING=1\nMONOTONIC_USEC=#{microseconds}\nSTATUS=Starting again")
      end

      # Another process serves in its place.
      # @param pid [Integer]
      # @return [void]
      def replaced_by(pid)
        tell("MAINPID=#{pid}\nSTATUS=Serving")
        close
      end

      # No more signs of life.
      # @return [void]
      def close
        @thread&.kill
      end

      private

      # Until the process ends: while it drains it lives.
      def live
        @thread ||= Thread.new do
          Thread.current.name = "nb-systemd"
          loop do
            tell("WATCHDOG=1")
            sleep(@alive_every_s)
          end
        end
      end

      def tell(text)
        return unless @path

        socket = Socket.new(:UNIX, :DGRAM)
        socket.connect_nonblock(Socket.pack_sockaddr_un(@path.sub(/\A@/, "\0")))
        socket.sendmsg_nonblock(text, exception: false)
      rescue SystemCallError, IOError, ArgumentError
        nil
      ensure
        socket&.close
      end
    end
  end
end
