# frozen_string_literal: true

# One line at the foot of a terminal: how many downloads are under way, how fast, and how much has gone in all. Nothing where there is no terminal.

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
      # @param clock [#call] seconds
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

      # Takes the line away. Once more does no harm.
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

      # @return [String] what there is to say now; the speed is that since it was last asked
      def text
        stats = @server.stats
        now = @clock.call
        bytes = stats.fetch(:bytes_sent, 0)
        rate = @bytes && now > @then ? (bytes - @bytes) / (now - @then) : 0
        @bytes = bytes
        @then = now
        active = stats.fetch(:downloads, 0)
        "#{Watch::Units.count(active)} download#{"s" unless active == 1} under way, #{Watch::Units.bytes(rate)}/s, #{Watch::Units.bytes(bytes)} sent"
      end

      private

      def run
        @lock.synchronize do
          @wake.wait(@lock, INTERVAL_S) while @thread && draw(text)
        end
      end

      # The cursor goes back to the line's beginning: an entry of the log writes over it. False: the terminal is gone.
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
