# frozen_string_literal: true

module NeverBlock
  module DB
    module Sqlite3
      # The busy handler of a connection. SQLite calls it within a statement, and runs nothing else
      # of the connection until it returns. Others that use the connection meanwhile wait in #enter.
      # An exception must not leave the handler, as it would skip SQLite's own frames. So it is
      # stored, SQLite is told to give up, and the caller of SQLite raises it. In the same way the
      # end of a killed fiber is put off until SQLite has returned.
      class Busy
        # In the place of an exception: the fiber is killed.
        KILLED = :killed
        private_constant :KILLED

        # Seconds until a fiber tries again, in addition to the handler's own wait.
        PAUSE_S = 0.001

        # @return [Exception, Symbol, nil] what has ended the wait in the handler
        attr_reader :pending_error

        # @param handler [#call] gets the number of its calls so far; returns false to give up
        def initialize(handler)
          @handler = handler
          @lock = Thread::Mutex.new
        end

        # Called by SQLite.
        # @return [Boolean] whether to try again
        def call(count)
          again = @lock.synchronize { again?(count) }
          returns = true
          again
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised by the caller
          @pending_error = e
          returns = true
          false
        ensure
          unless returns || !Compat.killed?
            @pending_error = KILLED
            return false # rubocop:disable Lint/EnsureReturn -- the fiber goes on
          end
        end

        # Waits until no other fiber or thread is in the handler. May park.
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

        # Raises what has ended the wait, once, or ends the fiber that was killed in it.
        def raise_pending_error
          error = @pending_error
          @pending_error = nil
          error == KILLED ? Compat.end_killed : raise(error)
        end

        private

        def again?(count)
          return false if @handler.call(count) == false

          pause if Compat.scheduler
          true
        end

        def pause
          Scheduler.next_wait(:database, "sqlite3")
          sleep(PAUSE_S)
        end
      end

      # The handler that SQLite itself has for busy_timeout=, with the same delays and the same end,
      # but without holding Ruby's lock.
      class Timeout
        # sqlite3.c, sqliteDefaultBusyCallback.
        DELAYS_MS = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100].freeze
        # Longest delay of a fiber. Fibers that wait side by side should not wait much longer than
        # the lock is held.
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

          Scheduler.next_wait(:database, "sqlite3")
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
