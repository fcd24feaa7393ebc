# frozen_string_literal: true

# Monotonic seconds, for all that the demo measures.

module Demo
  module Clock
    private

    # @return [Float] seconds
    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
