# frozen_string_literal: true

# The pause before the next attempt to start a worker. There is none for a worker that has served.
# It is 1, 2, 4 .. 30 seconds after a worker that never became ready, or after several in a row that
# ended right after they were. Failures during a pause do not lengthen it, so that workers that fail
# together count once.

module NeverBlock
  module Cluster
    class BackOff
      STEPS_S = [1, 2, 4, 8, 16, 30].freeze
      # Short lives in a row that cause no pause; somebody may have killed the workers.
      SHORT_LIVES = 3

      # @param clock [#call] monotonic seconds
      def initialize(clock)
        @clock = clock
        lasted
      end

      # Records that a worker has served.
      # @return [void]
      def lasted
        @failures = 0
        @short = 0
        @until = nil
      end

      # Records that a process ended before it was ready.
      # @return [void]
      def failed
        return if left.positive?

        @until = @clock.call + STEPS_S.fetch(@failures, STEPS_S.last)
        @failures += 1
      end

      # Records that a worker ended right after it was ready, without having answered a request.
      # @return [void]
      def short_lived
        @short += 1
        failed if @short > SHORT_LIVES
      end

      # @return [Float] seconds until the next attempt; 0: now
      def left
        @until ? [@until - @clock.call, 0.0].max : 0.0
      end

      # @return [Boolean] whether the last attempt has failed
      def failing?
        @failures.positive?
      end
    end
  end
end
