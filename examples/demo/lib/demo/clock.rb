# frozen_string_literal: true

# Seconds that only grow, for whoever measures in the demo.

module Demo
  module Clock
    private

    # @return [Float] seconds
    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
