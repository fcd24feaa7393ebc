# frozen_string_literal: true

# When a line last moved. The time that one who waits is given counts from there: a long line that moves is no error, one that stands still (a leak, a deadlock) is.

require "neverblock/verbs/deadline"

module NeverBlock
  module Pool
    class Progress
      # @param clock [#call] monotonic seconds
      def initialize(clock = -> { Deadline.now })
        @clock = clock
        @moved_at = 0.0
        @stuck = false
      end

      # @return [Float]
      def now
        @clock.call
      end

      # It moves.
      # @return [void]
      def moved
        @moved_at = now
        @stuck = false
      end

      # Somebody has left it, whose time was over.
      # @return [void]
      def timed_out
        @stuck = true
      end

      # @return [Boolean] whether it has not moved since somebody's time was over
      def stuck?
        @stuck
      end

      # @param since [Float] when the wait began
      # @param seconds [Numeric] that it may last without a move
      # @return [Float] seconds left
      def left(since, seconds)
        seconds - (now - [since, @moved_at].max)
      end
    end
  end
end
