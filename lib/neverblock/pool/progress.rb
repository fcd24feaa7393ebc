# frozen_string_literal: true

# When a wait queue last moved. The time limit of a waiter counts from that moment. A long queue
# that moves is no error; one that does not move is, by a leak or a deadlock.

require "neverblock/verbs/deadline"

module NeverBlock
  module Pool
    class Progress
      # @param clock [#call] returns monotonic seconds
      def initialize(clock = -> { Deadline.now })
        @clock = clock
        @moved_at = 0.0
        @stuck = false
      end

      # @return [Float] monotonic seconds
      def now
        @clock.call
      end

      # Notes that the queue moves.
      # @return [void]
      def moved
        @moved_at = now
        @stuck = false
      end

      # Notes that a waiter has left because its time was over.
      # @return [void]
      def timed_out
        @stuck = true
      end

      # @return [Boolean] whether the queue has not moved since a waiter's time was over
      def stuck?
        @stuck
      end

      # @param since [Float] when the wait began, in monotonic seconds
      # @param seconds [Numeric] how long it may last while the queue does not move
      # @return [Float] seconds left; 0 or less: the time is over
      def left(since, seconds)
        seconds - (now - [since, @moved_at].max)
      end
    end
  end
end
