# frozen_string_literal: true

# One who waits, in a pool's queue, for a place: a fiber of any scheduler, which parks, or a thread.

module NeverBlock
  module Pool
    class Waiter
      # @return [Object] what is waited with: a job, a lease
      attr_reader :subject

      def initialize(subject)
        @subject = subject
        @granted = false
        @condition = Thread::ConditionVariable.new
      end

      def granted?
        @granted
      end

      # By who gives the place, with the pool's lock held.
      def grant
        @granted = true
        @condition.signal
      end

      # With the lock held; releases it meanwhile. May return early.
      # @param seconds [Numeric, nil]
      def wait(lock, seconds = nil)
        @condition.wait(lock, seconds)
      ensure
        lock.lock unless lock.owned? # Bug #20907: Ruby 3.1 to 3.3 come back without it when the wait was interrupted
      end
    end
  end
end
