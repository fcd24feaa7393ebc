# frozen_string_literal: true

# Two faults of ConditionVariable among fibers (thread_sync.c; test/slow/scheduler_soak_test.rb
# shows them on Ruby 3.1.2, and the code is the same until 4.0).
#
# #broadcast walks the list of waiters and calls the hook unblock for each fiber among them. Ruby
# may run another thread after a hook. When the fiber that is next in the list leaves it meanwhile
# (its time is over, or something was raised in it), the walk continues in freed memory: a
# segmentation fault. #signal ends its walk at the first waiter, so here a broadcast is that many
# signals.
#
# #wait enters the list, unlocks the mutex and then sleeps. A thread that signals in between takes
# the fiber out of the list and calls the hook for a fiber that does not sleep yet. The fiber then
# sleeps forever. Here the scheduler expects such a wake beforehand, and keeps it for the sleep.

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
