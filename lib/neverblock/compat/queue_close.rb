# frozen_string_literal: true

# Queue#close, and SizedQueue's #close, #clear and #max=, walk the list of waiters, as
# ConditionVariable#broadcast does (thread_sync.c, sync_wakeup; see condition_variable.rb). Ruby may
# run another thread after the hook unblock. When the waiter that is next in the list leaves it
# meanwhile, the walk continues in freed memory. All Rubies to 4.0.
#
# A queue has no way to wake its waiters one by one. So here no other thread runs during the walk.
# Exceptions for this thread are deferred. Its priority makes its time slice eight times as long,
# 800 ms (thread.c, rb_threadptr_execute_interrupts), which is enough for many thousand waiters.

module NeverBlock
  module Compat
    module QueueClose
      # The highest priority (thread.c, RUBY_THREAD_PRIORITY_MAX).
      PRIORITY = 3

      # Calls the block, which must be short. No other thread runs meanwhile.
      def self.undisturbed
        thread = Thread.current
        priority = thread.priority
        HandleInterrupt.undisturbed do
          thread.priority = PRIORITY
          yield
        ensure
          thread.priority = priority
        end
      end

      def close
        QueueClose.undisturbed { super }
      end
    end

    module SizedQueueClose
      def close
        QueueClose.undisturbed { super }
      end

      def clear
        QueueClose.undisturbed { super }
      end

      def max=(size)
        QueueClose.undisturbed { super }
      end
    end

    Thread::Queue.prepend(QueueClose)
    Thread::SizedQueue.prepend(SizedQueueClose)
  end
end
