# frozen_string_literal: true

# Two faults of ConditionVariable among fibers (thread_sync.c; found on Ruby 3.1.2 by test/slow/scheduler_soak_test.rb, and the code is the same until 4.0).
#
# #broadcast walks the list of those who wait and calls the hook unblock for each fiber among them. Ruby may run another thread after a hook; when the fiber that is
# next in the list leaves it there (its time is over, it was raised into), the walk goes on in memory that is gone: a segmentation fault. #signal ends its
# walk at the first, so that many signals are a broadcast.
#
# #wait enters the list, gives the mutex free and then sleeps; a thread that signals in between takes the fiber out of the list and calls the hook for a
# fiber that does not sleep yet, which then sleeps for ever. The scheduler is told before that such a wake may come, and keeps it for the sleep.

module NeverBlock
  module Compat
    module ConditionWait
      def wait(*arguments)
        @waiting = @waiting.to_i + 1
        scheduler = Compat.scheduler
        scheduler&.expect_wake
        super
      ensure
        scheduler&.forget_wake
        @waiting -= 1
      end

      def broadcast
        @waiting.to_i.times { signal }
        self
      end
    end

    ConditionVariable.prepend(ConditionWait)
  end
end
