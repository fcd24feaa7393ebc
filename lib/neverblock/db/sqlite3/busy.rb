# frozen_string_literal: true

module NeverBlock
  module DB
    module Sqlite3
      # A connection's busy handler. SQLite calls it from within a statement, and calls nothing else of the connection until it returns: who else uses the
      # connection meanwhile waits in #enter. An exception must not leave it, as it would skip SQLite's own frames: it is kept, SQLite is told to give up, and
      # whoever has called SQLite raises it.
      class Busy
        # A fiber tries again after this long, and after what the handler itself has waited.
        PAUSE_S = 0.001

        # @return [Exception, nil]
        attr_reader :pending_error

        # @param handler [#call] is given the number of times it was called before; false gives up
        def initialize(handler)
          @handler = handler
          @lock = Thread::Mutex.new
        end

        # Called by SQLite.
        # @return [Boolean] whether to try again
        def call(count)
          @lock.synchronize { again?(count) }
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised by #raise_pending_error
          @pending_error = e
          false
        end

        # Waits until no other fiber or thread is inside the handler.
        def enter
          @lock.synchronize { nil } if @lock.locked? && !@lock.owned?
        end

        # Calls the block, which calls SQLite.
        def guard
          enter
          yield
        ensure
          raise_pending_error if @pending_error
        end

        # @raise what has ended the wait
        def raise_pending_error
          error = @pending_error
          @pending_error = nil
          raise error
        end

        private

        def again?(count)
          return false if @handler.call(count) == false

          sleep(PAUSE_S) if Compat.scheduler
          true
        end
      end

      # The handler that SQLite has for busy_timeout=, without keeping Ruby's lock: the same waits, and the same end.
      class Timeout
        DELAYS_MS = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100].freeze
        # Fibers that wait beside each other should not wait much longer than the lock is held.
        FIBER_MS = 5

        # @param milliseconds [Integer]
        def initialize(milliseconds)
          @limit_s = milliseconds / 1000.0
        end

        # @return [Boolean] whether to try again
        def call(count)
          now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          @until = now + @limit_s if count.zero?
          delay_s = delay_ms(count) / 1000.0
          left_s = @until - now
          return false if left_s <= 0

          sleep([delay_s, left_s].min)
          true
        end

        private

        def delay_ms(count)
          delay = DELAYS_MS[count] || DELAYS_MS.last
          Compat.scheduler ? [delay, FIBER_MS].min : delay
        end
      end
    end
  end
end
