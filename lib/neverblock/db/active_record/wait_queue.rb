# frozen_string_literal: true

# The wait queue of a connection pool, for fibers and threads. ConnectionPool::Queue has it in place
# of a condition variable. The lock is the pool's, and every caller holds it.
#
# A waiter stays in it until it has a connection. Its time limit (checkout_timeout) counts from the
# last moment the queue moved.

require "neverblock/pool/admission_queue"
require "neverblock/pool/progress"

module NeverBlock
  module DB
    module ActiveRecord
      class WaitQueue
        # One fiber or thread that waits.
        class Waiter
          # @return [MonitorMixin::ConditionVariable]
          attr_reader :condition
          # @return [Boolean] whether it is this one's turn
          attr_accessor :called

          def initialize(condition)
            @condition = condition
            @called = false
          end
        end

        # @return [NeverBlock::Pool::AdmissionQueue] where requests wait before they enter this
        #   queue
        attr_reader :admission_queue

        # @param lock [MonitorMixin] the pool
        # @param size [#call] returns the most connections; nil: no limit
        # @param progress [NeverBlock::Pool::Progress]
        # @param pool [Pool, nil] that tells its gauge of waits
        # @yieldreturn [Boolean] whether there is a connection
        def initialize(lock, size: -> {}, progress: NeverBlock::Pool::Progress.new, pool: nil,
                       &ready)
          @lock = lock
          @pool = pool
          @size = size
          @progress = progress
          @ready = ready
          @waiters = {}.compare_by_identity
          @admission_queue = NeverBlock::Pool::AdmissionQueue.new(self, pool && self)
        end

        # @return [Integer] how many more may wait until there are as many waiters as connections. A
        #   queue that does not move has room for more, so that they get their error in time.
        def room
          size = @size.call || 1
          @progress.stuck? ? size : [size - @waiters.size, 0].max
        end

        # Parks the fiber until it is its turn and a connection is there, or the queue has not moved
        # for too long.
        # @param seconds [Numeric, nil] longest wait while the queue does not move; nil: no limit
        # @return [Boolean] whether a connection is there
        def wait(seconds = nil)
          waiter = Waiter.new(@lock.new_cond)
          @waiters[waiter] = true
          tell(:waits)
          taken = wait_for_turn(waiter, seconds)
        ensure
          @admission_queue.room_changed if @waiters.delete(waiter)
          signal if waiter.called && !taken # it was interrupted: it is the next waiter's turn
        end

        # A connection is there: calls the first waiter.
        # @return [void]
        def signal
          waiter = @waiters.first&.first or return
          @waiters.delete(waiter)
          waiter.called = true
          @progress.moved
          waiter.condition.signal
          @admission_queue.room_changed
        end

        # Calls all waiters.
        # @return [void]
        def broadcast
          signal until @waiters.empty?
        end

        # @param event [Symbol] as of NeverBlock::Pool::Gauge#tell
        # @return [void]
        def tell(event)
          @pool&.neverblock_tell(event)
        end

        # The next wait of the running fiber is for the pool.
        # @return [void]
        def next_wait
          gauge = @pool&.neverblock_gauge
          gauge ? gauge.next_wait : Scheduler.next_wait(:pool)
        end

        private

        def wait_for_turn(waiter, seconds)
          since = @progress.now
          until waiter.called && @ready.call
            requeue(waiter) if waiter.called
            left = seconds && @progress.left(since, seconds)
            return give_up if left && left <= 0

            next_wait
            waiter.condition.wait(left)
          end
          true
        end

        # The connection was removed (the pool was disconnected): the waiter is the first again.
        def requeue(waiter)
          waiter.called = false
          @waiters = { waiter => true }.compare_by_identity.merge!(@waiters)
        end

        def give_up
          @progress.timed_out
          false
        end
      end
    end
  end
end
