# frozen_string_literal: true

# Calls blocks when their time has come, on a thread that is there from the start: where memory or threads have run out by then, a stop still has an end.

require "neverblock/verbs/deadline"

module NeverBlock
  class Server
    class Later
      # @raise [ThreadError] when there is no thread to be had
      def initialize
        @lock = Thread::Mutex.new
        @changed = Thread::ConditionVariable.new
        @calls = []
        @thread = Thread.new { loop { due&.call } }
        @thread.name = "nb-later"
      end

      # @param seconds [Numeric] from now
      # @yield on the thread; is to be short, and not to raise
      # @return [void]
      def call(seconds, &block)
        @lock.synchronize do
          @calls << [Deadline.now + seconds, block]
          @calls.sort_by!(&:first)
          @changed.signal
        end
      end

      private

      # @return [Proc, nil] what is to be called now
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
