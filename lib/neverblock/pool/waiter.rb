# frozen_string_literal: true

# One entry of a pool's queue: a fiber of any scheduler, which parks, or a thread, which blocks.

module NeverBlock
  module Pool
    class Waiter
      # @return [Object] what it waits with: a job, a lease
      attr_reader :subject

      # @param subject [Object]
      # @param gauge [Gauge, nil] of the pool
      def initialize(subject, gauge = nil)
        @subject = subject
        @gauge = gauge
        @granted = false
        @condition = Thread::ConditionVariable.new
      end

      # @return [Boolean] whether it has its place
      def granted?
        @granted
      end

      # Gives it its place. Called with the pool's lock held.
      def grant
        @granted = true
        @condition.signal
      end

      # Called with the lock held, and releases it meanwhile. It may return early.
      # @param lock [Thread::Mutex] the pool's
      # @param seconds [Numeric, nil] nil: no limit
      def wait(lock, seconds = nil)
        @gauge ? @gauge.next_wait : Scheduler.next_wait(:pool)
        @condition.wait(lock, seconds)
      ensure
        Compat.relock(lock)
      end
    end
  end
end
