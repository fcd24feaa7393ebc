# frozen_string_literal: true

# `neverblock stop`: ends a running server and waits until its process is gone. What is left meanwhile is shown: as one live line on a terminal, as a line now and
# then elsewhere.

require "neverblock/cli/output"
require "neverblock/cli/process_options"
require "neverblock/cli/running_server"
require "neverblock/verbs/deadline"

module NeverBlock
  module CLI
    class Stop
      include Output

      # Seconds beyond the server's own limit, in which it cuts what is left, runs at_exit blocks, and ends.
      PATIENCE_S = 15
      # Seconds between two looks whether it is there.
      LOOK_S = 0.05
      # Seconds between two lines.
      LINE_S = { true => 1, false => 5 }.freeze
      # Seconds for a server to say what is left.
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

      # @return [Integer] 0 when it has ended cleanly
      # @raise [Error] why not
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

      # Two signals of one kind may arrive as one.
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

      # The server's own settings count, where it tells them.
      def shutdown_s
        told = ask("status", STATUS_S)[:shutdown_s]
        told.is_a?(Numeric) ? told : @options.shutdown_s
      end

      def line
        left = ask("status", STATUS_S)[:connections]
        rest = ": #{left} #{left == 1 ? "connection is" : "connections are"} open" if left.is_a?(Integer) && left.positive?
        text = "process #{@server.pid} is stopping#{rest}"
        show(terminal? ? "#{ERASE}#{text}" : "#{text}\n")
        Deadline.now + LINE_S.fetch(terminal?)
      end

      # @return [Hash] empty where nobody answers
      def ask(command, wait_s = nil)
        @server.control.ask(command, wait_s: wait_s)
      rescue Error
        {}
      end

      def give_up
        mend = @options.now ? "kill -9 #{@server.pid} is what is left" : "neverblock stop --now cuts what it still runs"
        raise Error, "process #{@server.pid} has not ended within #{format("%g", @limit_s)} s; #{mend}"
      end

      # @param told [Hash] its answer when it ended
      def check(told)
        return if @options.now

        status = told[:status]
        raise Error, "process #{@server.pid} has ended with status #{status}: requests were cut, or a part of it failed; its log says which" if status&.nonzero?
        raise Error, "process #{@server.pid} was killed or has crashed: its pidfile is still there" if status.nil? && @server.left_its_pidfile?
      end

      def terminal?
        @out.tty? && @env["TERM"] != "dumb"
      end
    end
  end
end
