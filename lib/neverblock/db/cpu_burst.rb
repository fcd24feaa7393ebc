# frozen_string_literal: true

require "neverblock/compat/ruby"
require "neverblock/verbs/deadline"

module NeverBlock
  module DB
    # Limits the time that a fiber computes without a break while it takes row after row from
    # memory. That is C code in which no time slice ends, and the fiber does not wait. So it yields
    # after some time, with time slices as other computing fibers do: after those that have waited.
    class CpuBurst
      # Seconds between two checks for waiting fibers.
      LOOK_S = 0.001
      # With time slices, seconds after which it waits for a moment. Its deadline is met within
      # them.
      WAIT_S = 0.1

      # @param longest [Float] seconds of the first slice; without time slices, seconds between two
      #   waits
      def initialize(longest)
        @longest = longest
        @waited = @looked = Deadline.now
      end

      # Lets others run when it is time. Parks then.
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
