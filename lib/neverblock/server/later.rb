# frozen_string_literal: true

# Calls blocks after a time, on a thread that exists from the start. So a stop works even when
# memory or threads are exhausted by then.

require "neverblock/verbs/deadline"

module NeverBlock
  class Server
    class Later
      # @raise [ThreadError] when no thread is available
      def initialize
        @lock = Thread::Mutex.new
        @changed = Thread::ConditionVariable.new
        @calls = []
        @thread = Thread.new { loop { due&.call } }
        @thread.name = "nb-later"
      end

      # @param seconds [Numeric] from now
      # @yield on the thread; must be short and must not raise
      # @return [void]
      def call(seconds, &block)
        @lock.synchronize do
          @calls << [Deadline.now + seconds, block]
          @calls.sort_by!(&:first)
          @changed.signal
        end
      end

      private

      # @return [Proc, nil] the block to call now
      def due
        @lock.synchronize do
          at, = @calls.first
          left = at && (at - Deadline.now)
          return @calls.shift.last if left && left <= 0

          @changed.wait(@lock, left)
          nil
        end
      end
    end
  end
end
