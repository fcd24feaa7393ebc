# frozen_string_literal: true

# Mutex#sleep, and with it the waits of ConditionVariable and MonitorMixin, does not lock the mutex again when an exception ends its wait in a fiber (Fiber#raise, a
# timeout); `synchronize` then unlocks what another fiber has locked. Bug #20907, mended in Ruby 3.4 for the sleep, and in no Ruby for a second exception that comes
# while the mutex is waited for. Like Ruby's own lock after a thread's sleep, this one cannot be interrupted: what is raised meanwhile is raised when the mutex
# is locked.

module NeverBlock
  module Compat
    module MutexSleep
      def sleep(*arguments)
        return super unless Compat.scheduler && owned?

        begin
          super
        ensure
          MutexSleep.lock(self) unless owned?
        end
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
      end

      # Of two exceptions that came while the mutex was not to be had, the later one knows the earlier.
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
