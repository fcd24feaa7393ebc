# frozen_string_literal: true

# File#flock has no hook (rb_file_flock in file.c). A fiber that waits for a lock would stop its
# loop, forever when a fiber of the same loop holds the lock (two PStore transactions, for
# instance). Here a fiber tries for the lock again and again, with growing pauses. Another process
# that waits in the kernel may be served first. As with flock(2) without LOCK_NB, a conversion that
# has to wait gives up the earlier lock.

module NeverBlock
  module Compat
    module Flock
      # Seconds of the first pause, and of the longest.
      FIRST_PAUSE_S = 0.001
      LAST_PAUSE_S = 0.05

      def flock(operation)
        return super unless Compat.scheduler && Flock.waits?(operation)

        pause = FIRST_PAUSE_S
        until (result = super(operation | File::LOCK_NB))
          sleep(pause)
          pause = [pause * 2, LAST_PAUSE_S].min
        end
        result
      end

      # @return [Boolean] whether flock(2) may wait with this operation
      def self.waits?(operation)
        operation.is_a?(Integer) && operation.nobits?(File::LOCK_NB | File::LOCK_UN)
      end
    end

    File.prepend(Flock)
  end
end
