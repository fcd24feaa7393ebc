# frozen_string_literal: true

# `neverblock top`: a running server's figures, live on a terminal, or one line for each reading
# into a pipe. Keys, signals and readings are events, which one loop handles.

require "json"
require "neverblock/cli/output"
require "neverblock/cli/watch_options"
require "neverblock/watch/client"
require "neverblock/watch/dashboard"
require "neverblock/watch/poller"
require "neverblock/watch/requests_view"
require "neverblock/watch/terminal"

module NeverBlock
  module CLI
    class Top
      include Output

      # Base of the exit status after a signal, as shells report it.
      SIGNALLED = 128
      ENDING = { "INT" => OK, "TERM" => SIGNALLED + 15, "HUP" => SIGNALLED + 1 }.freeze
      # ^C and ^D count where the terminal makes no signal of them.
      QUIT = ["q", "Q", "\x03", "\x04"].freeze
      KEYS_BYTES = 64
      # A key: an escape sequence (ECMA-48), or a character.
      KEY = /\e\[[0-9;]*[A-Za-z~]|./m
      SWITCH = "\t"

      # @param argv [Array<String>] what follows the command
      # @param env [Hash, ENV]
      # @param out [IO]
      # @param input [IO]
      def initialize(argv, env: ENV, out: $stdout, input: $stdin)
        @options = WatchOptions.new("top", argv)
        @env = env
        @out = out
        @input = input
      end

      # Runs until it is told to end.
      # @return [Integer] exit status
      # @raise [Error] when the first reading fails
      def run
        return show(@options.help_text) if @options.help

        @address = @options.address
        @trend = Watch::Trend.new
        @dashboard = Watch::Dashboard.new(@address, @trend)
        @poller = Watch::Poller.new(Watch::Client.new(@address), @options.interval_s) do |*reading|
          push([:reading, reading])
        end
        @trend.add(@poller.ask)
        return in_json if @options.json

        Watch::Terminal.usable?(@out, @env) ? on_screen : in_lines
      rescue Errno::EPIPE
        OK # the reader has closed the pipe
      end

      private

      def on_screen
        @terminal = Watch::Terminal.new(@input, @out, @env)
        @requests = Watch::RequestsView.new
        @show = -> { @terminal.draw(screen) }
        watch(%w[WINCH TSTP CONT]) { @terminal.borrow { handle_events } }
      end

      def screen
        size = @terminal.size
        return @dashboard.screen(*size, problem: @problem) unless @poller.with_fibers

        @dashboard.requests_screen(@requests, *size, problem: @problem)
      end

      # One document for each reading: the server's own two.
      def in_json
        @poller.with_fibers = true
        @fibers = @poller.ask_fibers
        @show = lambda do
          raise @fibers if @fibers.is_a?(Watch::Unreachable)

          @out.puts(JSON.generate("time" => Time.now.utc.strftime("%FT%TZ"),
                                  "status" => @trend.document.to_h,
                                  "fibers" => @fibers.document.to_h))
          @out.flush
        end
        watch([]) { handle_events }
      end

      def in_lines
        @show = lambda do
          @out.puts("#{Time.now.utc.strftime("%FT%TZ")} #{@dashboard.line(problem: @problem)}")
          @out.flush
        end
        watch([]) { handle_events }
      end

      # Runs the block with these signals turned into events.
      def watch(signals)
        @events = Thread::Queue.new
        @bell, @ring = IO.pipe
        previous = [*ENDING.keys, *signals].to_h do |name|
          [name, Signal.trap(name) { push([:signal, name]) }]
        end
        yield
      ensure
        @poller.stop
        previous&.each { |name, handler| Signal.trap(name, handler || "DEFAULT") }
        [@bell, @ring].compact.each(&:close)
      end

      # Also called in signal handlers, so it takes no lock but the queue's own.
      def push(event)
        @events << event
        @ring.write_nonblock("!", exception: false)
      end

      # @return [Integer] exit status
      def handle_events
        @readings = 1
        @show.call
        return OK if @readings == @options.count

        @poller.start
        loop do
          status = next_key || next_event
          return status if status.is_a?(Integer)
        end
      end

      # Waits for a key or an event.
      # @return [Integer, nil] exit status when a key ends the program
      def next_key
        input = @terminal&.input
        ready, = IO.select([@bell, input].compact)
        @bell.read_nonblock(KEYS_BYTES, exception: false) if ready.include?(@bell)
        return nil unless ready.include?(input)

        keys = input.read_nonblock(KEYS_BYTES, exception: false)
        return OK if keys.nil?

        keys.is_a?(String) ? press(keys.scan(KEY)) : nil
      rescue EOFError, Errno::EIO
        OK # the terminal is closed
      end

      # @param keys [Array<String>]
      # @return [Integer, nil] exit status when one ends the program
      def press(keys)
        return OK if keys.intersect?(QUIT)

        changes = keys.map { |key| key == SWITCH ? switch : on_requests?(key) }
        @show.call if changes.any?
        nil
      end

      def on_requests?(key)
        @poller.with_fibers && @requests.press(key)
      end

      # To the requests, or back to the figures.
      def switch
        @poller.with_fibers = !@poller.with_fibers
        @problem = nil
        @poller.hurry if @poller.with_fibers
        true
      end

      def next_event
        until @events.empty?
          kind, value = @events.pop
          status = kind == :reading ? take(*value) : signalled(value)
          return status if status
        end
      end

      def take(reading, fibers)
        @problem = [reading, fibers].grep(Watch::Unreachable).first&.message
        raise reading if reading.is_a?(Exception) && !@problem

        take_fibers(fibers)
        @trend.add(reading.is_a?(Exception) ? nil : reading)
        @show.call
        @readings += 1
        OK if @readings == @options.count
      end

      def take_fibers(fibers)
        @fibers = fibers if fibers
        @requests.fibers = fibers if @requests && fibers.is_a?(Watch::Fibers)
      end

      def signalled(name)
        case name
        when "WINCH" then redraw
        when "TSTP" then suspend
        when "CONT" then resume
        else return ENDING.fetch(name)
        end
        nil
      end

      def redraw
        @show.call
      end

      # STOP cannot be caught: the process stops here until it is continued.
      def suspend
        @terminal.leave
        ::Process.kill("STOP", ::Process.pid)
      end

      def resume
        @terminal.leave
        @terminal.enter
        @show.call
      end
    end
  end
end
