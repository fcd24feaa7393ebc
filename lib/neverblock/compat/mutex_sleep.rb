# frozen_string_literal: true

# Mutex#sleep does not lock the mutex again when an exception ends its wait in a fiber (Fiber#raise,
# a timeout). The waits of ConditionVariable and MonitorMixin use it. `synchronize` then unlocks a
# mutex that another fiber has locked. Bug #20907: mended in Ruby 3.4 for the sleep, and in no Ruby
# for a second exception that comes during the wait for the mutex.
#
# As with Ruby's own lock after a thread's sleep, the wait for the mutex is not interrupted here.
# What is raised meanwhile is raised when the mutex is locked. A fiber that is killed meanwhile ends
# when the mutex is locked: an `ensure` block locks it, since no `rescue` sees Fiber#kill.
#
# Ruby does not look at what the hook kernel_sleep returns (thread_sync.c, rb_mutex_sleep): a wait
# whose time is over returned 0 in a fiber, and nil on a thread. So the sleep is made here.

module NeverBlock
  module Compat
    module MutexSleep
      def sleep(timeout = nil)
        scheduler = Compat.scheduler
        return super unless scheduler && owned?

        since = MutexSleep.now
        begin
          unlock
          woken = scheduler.kernel_sleep(timeout)
        ensure
          MutexSleep.lock(self) unless owned?
        end
        MutexSleep.now - since if woken
      end

      # @return [Integer] seconds
      def self.now
        Process.clock_gettime(Process::CLOCK_REALTIME, :second)
      end

      def self.lock(mutex)
        interrupted = nil
        begin
          mutex.lock
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again below
          interrupted = interrupted ? caused(e, interrupted) : e
          retry
        end
        raise interrupted if interrupted
      ensure
        Compat.relock(mutex)
      end

      # Of two exceptions that came during that wait, the earlier becomes the cause of the later.
      def self.caused(exception, cause)
        raise exception, cause: cause
      rescue exception.class
        exception
      end
      private_class_method :caused
    end

    Mutex.prepend(MutexSleep)
  end
end
