# frozen_string_literal: true

# File#flock has no hook (rb_file_flock in file.c): a fiber that waits for a lock would stop its loop, and for ever when a fiber of the same loop holds it
# (two PStore transactions, say). In a fiber the lock is tried for in turns instead. The pauses grow, so that a long wait costs little; who waits in the
# kernel, in another process, may be served first. As flock(2) without LOCK_NB, a conversion that has to wait gives up the lock held before.

module NeverBlock
  module Compat
    module Flock
      FIRST_PAUSE_S = 0.001
      LAST_PAUSE_S = 0.05

      def flock(operation)
        return super unless Compat.scheduler && operation.is_a?(Integer) && operation.nobits?(File::LOCK_NB | File::LOCK_UN)

        pause = FIRST_PAUSE_S
        until (result = super(operation | File::LOCK_NB))
          sleep(pause)
          pause = [pause * 2, LAST_PAUSE_S].min
        end
        result
      end
    end

    File.prepend(Flock)
  end
end
