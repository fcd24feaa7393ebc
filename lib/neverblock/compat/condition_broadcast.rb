# frozen_string_literal: true

# ConditionVariable#broadcast walks the list of those who wait and calls the hook unblock for each fiber among them. Ruby may run another thread after a hook;
# when the fiber that is next in the list leaves it there (its time is over, it was raised into), the walk goes on in memory that is gone: a segmentation
# fault. Seen on Ruby 3.1.2 with waits that have limits, by the soak (test/slow/scheduler_soak_test.rb); thread_sync.c, sync_wakeup, is the same until 4.0.
# #signal ends its walk at the first, so that many signals are a broadcast.

module NeverBlock
  module Compat
    module ConditionBroadcast
      def wait(*arguments)
        @waiting = @waiting.to_i + 1
        super
      ensure
        @waiting -= 1
      end

      def broadcast
        @waiting.to_i.times { signal }
        self
      end
    end

    ConditionVariable.prepend(ConditionBroadcast)
  end
end
