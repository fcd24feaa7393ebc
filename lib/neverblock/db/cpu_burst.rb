# frozen_string_literal: true

require "neverblock/compat/ruby"
require "neverblock/verbs/deadline"

module NeverBlock
  module DB
    # A fiber that is handed row after row out of memory, by C code in which no slice of time ends, does not wait, and nobody else runs: so it gives way when it has gone
    # on for long. Where there are slices, as one does that computes: after those that have waited.
    class CpuBurst
      # Seconds between two looks at whether others wait.
      LOOK_S = 0.001
      # Seconds after which it waits, for a moment, where there are slices: so soon its deadline is met.
      WAIT_S = 0.1

      # @param longest [Float] seconds of the first slice, or between two waits where there are no slices
      def initialize(longest)
        @longest = longest
        @waited = @looked = Deadline.now
      end

      # Lets the others run when it is time. Parks.
      # @return [void]
      def pause
        now = Deadline.now
        return if now - @looked < LOOK_S

        @looked = now
        wait if now - @waited >= (Compat.scheduler&.give_way(@longest) ? WAIT_S : @longest)
      end

      private

      def wait
        sleep(0)
        @waited = @looked = Deadline.now
      end
    end
  end
end
