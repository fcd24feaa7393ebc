# frozen_string_literal: true

# Queue#close, and SizedQueue's #close, #clear and #max=, walk the list of those who wait, as ConditionVariable#broadcast does (thread_sync.c, sync_wakeup;
# condition_variable.rb says more): when Ruby runs another thread after the hook unblock, and the waiter that is next in the list leaves it there because it
# was woken, raised into or out of time, the walk goes on in memory that is gone. All Rubies to 4.0.
#
# A queue has no way to wake its waiters one by one. So no other thread runs during the walk: what is raised at this one waits, and by its priority its slice
# of time is eight times as long (thread.c, rb_threadptr_execute_interrupts), 800 ms, of which a thousand waiters take one.

module NeverBlock
  module Compat
    module QueueClose
      # The highest there is (thread.c, RUBY_THREAD_PRIORITY_MAX).
      PRIORITY = 3

      # Calls the block, which should be short; no other thread runs meanwhile.
      def self.undisturbed
        thread = Thread.current
        priority = thread.priority
        Thread.handle_interrupt(Object => :never) do
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
