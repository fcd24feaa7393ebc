# frozen_string_literal: true

module NeverBlock
  module TLS
    # The wait of a thread that looks at something from time to time. Others have it look at once
    # (#ask), or end it (#close). Thread-safe.
    class Pause
      def initialize
        @lock = Mutex.new # of @asked and @closed
        @woken = ConditionVariable.new
        @asked = @closed = false
      end

      # Ends the wait that is on, or the next one, once.
      # @return [void]
      def ask
        wake { @asked = true }
      end

      # Ends every wait.
      # @return [void]
      def close
        wake { @closed = true }
      end

      # Blocks the thread.
      # @param seconds [Numeric] the longest wait
      # @param whole [Boolean] whether #ask does not end it; the next wait is ended then
      # @return [Symbol, nil] :asked, or :over; nil: it was closed
      def wait(seconds, whole: false)
        limit = now + seconds
        @lock.synchronize do
          until @closed || (@asked && !whole) || (left = limit - now) <= 0
            @woken.wait(@lock, left)
          end
          next if @closed
          next :over if whole || !@asked

          @asked = false
          :asked
        end
      end

      private

      def wake
        @lock.synchronize do
          yield
          @woken.signal
        end
      end

      def now
        ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      end
    end
  end
end
