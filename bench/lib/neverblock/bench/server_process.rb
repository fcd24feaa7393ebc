# frozen_string_literal: true

require "socket"
require "tmpdir"

module NeverBlock
  module Bench
    # A running server: started in a process group and with an environment of its own on a loopback
    # port, requested until it answers, and ended with all processes it has started.
    class ServerProcess
      BOOT_SECONDS_MAX = 30
      # Seconds after TERM. A server with many slow requests would need longer, but nobody waits for
      # them.
      STOP_SECONDS_MAX = 3
      POLL_SECONDS = 0.02
      ANSWER_SECONDS_MAX = 5

      class << self
        # Starts a server and yields it when it answers; ends it after the block.
        # @param server [Server]
        # @param app [String] rackup file
        # @param path [String] requested until it answers
        # @yield [ServerProcess]
        # @return [Object] the block's value
        # @raise [Error] when it does not answer in time, or with a wrong response
        def run(server, app:, path:)
          Dir.mktmpdir("neverblock-bench") do |directory|
            File.chmod(0o755, directory) # a worker that drops root still has to enter
            process = new(server, app: app, path: path, directory: directory)
            process.start
            yield process
          ensure
            process&.stop
          end
        end
      end

      # @return [Server]
      attr_reader :server
      # @return [Integer] process id of the server's leader
      attr_reader :pid
      # @return [ProcessTree]
      attr_reader :tree
      # @return [Array<String>]
      attr_reader :command
      # @return [String] its admin URL, or its own
      attr_reader :admin_url
      # @return [String, nil] its URL with TLS
      attr_reader :tls_url

      def initialize(server, app:, path:, directory:)
        @server = server
        @path = path
        @port = Port.free
        @log = File.join(directory, "log")
        launch = server.launch(port: @port, app: app, directory: directory)
        @command = launch.command
        @admin_url = launch.admin_url || url
        @tls_url = launch.tls_url
        @environment = Environment.clean.merge(launch.environment)
        @directory = directory
      end

      # @return [String] the server's name
      def name
        @server.name
      end

      # @return [String]
      def url
        "http://127.0.0.1:#{@port}"
      end

      # @return [Boolean, nil] whether the application has seen YJIT on; nil: not Ruby
      def yjit
        @server.ruby? ? log.include?("bench: yjit=true") : nil
      end

      # Returns when the server has answered the first request.
      def start
        files = Process.getrlimit(Process::RLIMIT_NOFILE).last
        @pid = Process.spawn(@environment, *@command, unsetenv_others: true, pgroup: true,
                                                      chdir: @directory, rlimit_nofile: files,
                                                      in: File::NULL, out: @log, err: %i[child out])
        @tree = ProcessTree.new(@pid)
        return if within(BOOT_SECONDS_MAX) { answered? || ended? } && !ended?

        what = ended? ? "ended at once" : "did not answer in #{BOOT_SECONDS_MAX} s"
        raise Error, "#{@server.name} #{what}: #{last_words}"
      end

      # @return [Boolean] false when it has ended by itself
      def alive?
        !ended?
      end

      # The leader is waited for last: while it is a zombie, no other process group can have its id.
      def stop
        return unless @pid

        signal(:TERM, @pid)
        within(STOP_SECONDS_MAX) { ended? }
        signal(:KILL, -@pid)
        Process.wait(@pid)
        @pid = nil
      end

      # Stops it (SIGSTOP). Only for a server of one process.
      def suspend
        signal(:STOP, @pid)
      end

      def resume
        signal(:CONT, @pid)
      end

      # @return [String] the end of its log, on one line
      def last_words
        log.scrub.strip.lines.last(3).map(&:strip).join(" | ")[0, 300]
      end

      private

      def answered?
        answer = Socket.tcp("127.0.0.1", @port, connect_timeout: ANSWER_SECONDS_MAX) do |socket|
          socket.write("GET #{@path} HTTP/1.1\r\nHost: 127.0.0.1:#{@port}\r\n" \
                       "Connection: close\r\n\r\n")
          read_all(socket)
        end
        return true if answer.start_with?("HTTP/1.1 200") && answer.end_with?("\r\n\r\nHello World")

        return if answer.empty?

        raise Error, "#{@server.name} answers wrongly: #{answer[0, 200].inspect}"
      rescue Errno::ECONNREFUSED, Errno::ECONNRESET, Errno::EPIPE
        false
      end

      def read_all(socket)
        answer = +""
        while socket.wait_readable(ANSWER_SECONDS_MAX)
          answer << socket.readpartial(4096)
        end
        answer
      rescue EOFError
        answer
      end

      def ended?
        File.read("/proc/#{@pid}/stat")[/\) (\S)/, 1] == "Z"
      end

      def signal(name, target)
        Process.kill(name, target)
      rescue Errno::ESRCH
        nil
      end

      def within(seconds)
        limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
        until (done = yield)
          return false if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

          sleep(POLL_SECONDS)
        end
        done
      end

      def log
        File.exist?(@log) ? File.read(@log) : ""
      end
    end
  end
end
