# frozen_string_literal: true

# One status line at the bottom of a terminal: number of running downloads, current rate, and bytes
# sent in total. Without a terminal it shows nothing.

require "neverblock/verbs/deadline"
require "neverblock/watch/terminal"
require "neverblock/watch/units"

module NeverBlock
  module CLI
    class DownloadLine
      INTERVAL_S = 0.5

      # @param screen [IO]
      # @param server [#stats]
      # @param env [Hash, ENV]
      # @param clock [#call] returns seconds
      def initialize(screen, server, env: ENV, clock: Deadline.method(:now))
        @screen = screen
        @server = server
        @clock = clock
        @usable = Watch::Terminal.usable?(screen, env)
        @lock = Mutex.new
        @wake = ConditionVariable.new
      end

      # @return [self]
      def start
        @lock.synchronize { @thread = Thread.new { run } } if @usable
        self
      end

      # Removes the line. May be called more than once.
      # @return [void]
      def stop
        thread = @thread or return
        @lock.synchronize do
          @thread = nil
          @wake.signal
        end
        thread.join
        draw("")
      end

      # @return [String] the line; its rate is the mean since the last call
      def text
        stats = @server.stats
        now = @clock.call
        bytes = stats.fetch(:bytes_sent, 0)
        rate = @bytes && now > @then ? (bytes - @bytes) / (now - @then) : 0
        @bytes = bytes
        @then = now
        active = stats.fetch(:downloads, 0)
        noun = active == 1 ? "download" : "downloads"
        "#{Watch::Units.count(active)} #{noun} running, #{Watch::Units.bytes(rate)}/s, " \
          "#{Watch::Units.bytes(bytes)} sent"
      end

      private

      def run
        @lock.synchronize do
          @wake.wait(@lock, INTERVAL_S) while @thread && draw(text)
        end
      end

      # Moves the cursor back to the beginning of the line, so that a log entry overwrites it.
      # @return [Boolean] false when the terminal is closed
      def draw(text)
        width = @screen.respond_to?(:winsize) ? @screen.winsize.last : 0
        text = text[0, width - 1] if width > 1
        @screen.write("\r#{text}#{Watch::Terminal::CLEAR_LINE}\r")
        @screen.flush
        true
      rescue SystemCallError, IOError
        false
      end
    end
  end
end
