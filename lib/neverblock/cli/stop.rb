# frozen_string_literal: true

# `neverblock stop`: stops a running server and waits until its process has ended. Meanwhile it
# shows the open connections: in one live line on a terminal, elsewhere in a line every few seconds.

require "neverblock/cli/output"
require "neverblock/cli/process_options"
require "neverblock/cli/running_server"
require "neverblock/verbs/deadline"

module NeverBlock
  module CLI
    class Stop
      include Output

      # Seconds to wait after the server's own timeout. In them it closes the connections that are
      # left, runs at_exit blocks, and ends.
      PATIENCE_S = 15
      # Seconds between two checks of the process.
      LOOK_S = 0.05
      # Seconds between two lines of output, on a terminal and elsewhere.
      LINE_S = { true => 1, false => 5 }.freeze
      # Seconds to wait for the server's answer on its control socket.
      STATUS_S = 1
      ERASE = "\r\e[K"

      # @param argv [Array<String>] what follows the command
      # @param env [Hash, ENV]
      # @param out [IO]
      # @param patience_s [Numeric]
      def initialize(argv, env: ENV, out: $stdout, patience_s: PATIENCE_S)
        @options = ProcessOptions.new("stop", argv)
        @env = env
        @out = out
        @patience_s = patience_s
      end

      # @return [Integer] 0 when the server has ended cleanly
      # @raise [Error] with the reason when not
      def run
        return show(@options.help_text) if @options.help

        @server = RunningServer.new(@options.pidfile(@env))
        ending = Thread.new { ask("end") }
        tell
        wait
        check(ending.join(STATUS_S) ? ending.value : {})
        show("process #{@server.pid} has ended\n")
      ensure
        ending&.kill
      end

      private

      # Sends two different signals: two of the same may be delivered as one.
      def tell
        @server.signal("TERM")
        @server.signal("INT") if @options.now
      end

      def wait
        @limit_s = (@options.now ? 0 : shutdown_s) + @patience_s
        @limit = Deadline.now + @limit_s
        next_line = Deadline.now
        while @server.alive?
          next_line = line if Deadline.now >= next_line
          give_up if Deadline.now > @limit
          sleep(LOOK_S)
        end
      ensure
        show(ERASE) if terminal?
      end

      # The server's own setting, if it answers.
      def shutdown_s
        told = ask("status", STATUS_S)[:shutdown_s]
        told.is_a?(Numeric) ? told : @options.shutdown_s
      end

      def line
        left = ask("status", STATUS_S)[:connections]
        if left.is_a?(Integer) && left.positive?
          rest = ": #{left} #{left == 1 ? "connection is" : "connections are"} open"
        end
        text = "process #{@server.pid} is stopping#{rest}"
        show(terminal? ? "#{ERASE}#{text}" : "#{text}\n")
        Deadline.now + LINE_S.fetch(terminal?)
      end

      # @return [Hash] empty when the server does not answer
      def ask(command, wait_s = nil)
        @server.control.ask(command, wait_s: wait_s)
      rescue Error
        {}
      end

      def give_up
        pid = @server.pid
        fix = @options.now ? "use kill -9 #{pid}" : "neverblock stop --now aborts what still runs"
        raise Error, "process #{pid} has not ended within #{format("%g", @limit_s)} s; #{fix}"
      end

      # @param told [Hash] the server's last answer on its control socket
      def check(told)
        return if @options.now

        status = told[:status]
        raise Error, "process #{@server.pid} #{failed(status)}" if status&.nonzero?
        return unless status.nil? && @server.left_its_pidfile?

        raise Error, "process #{@server.pid} was killed or has crashed: its pidfile still exists"
      end

      def failed(status)
        "has ended with status #{status}: requests were aborted, or a part of it failed; " \
          "see its log"
      end

      def terminal?
        @out.tty? && @env["TERM"] != "dumb"
      end
    end
  end
end
