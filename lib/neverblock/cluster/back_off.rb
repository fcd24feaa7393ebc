# frozen_string_literal: true

# How long to wait before the next attempt when workers do not live: not at all for one that has worked; 1, 2, 4 .. 30 seconds when one never became ready, or
# when several in a row ended right after they had. What fails while the time runs does not lengthen it: workers that fail together fail once.

module NeverBlock
  module Cluster
    class BackOff
      STEPS_S = [1, 2, 4, 8, 16, 30].freeze
      # Short lives in a row that are made good at once: somebody may have killed them.
      SHORT_LIVES = 3

      # @param clock [#call] monotonic seconds
      def initialize(clock)
        @clock = clock
        lasted
      end

      # A worker has served.
      # @return [void]
      def lasted
        @failures = 0
        @short = 0
        @until = nil
      end

      # A process ended before it was ready.
      # @return [void]
      def failed
        return if left.positive?

        @until = @clock.call + STEPS_S.fetch(@failures, STEPS_S.last)
        @failures += 1
      end

      # A worker ended right after it was ready and had answered nothing.
      # @return [void]
      def short_lived
        @short += 1
        failed if @short > SHORT_LIVES
      end

      # @return [Float] seconds until the next attempt; 0: now
      def left
        @until ? [@until - @clock.call, 0.0].max : 0.0
      end

      # @return [Boolean] whether the last thing that was tried has failed
      def failing?
        @failures.positive?
      end
    end
  end
end
