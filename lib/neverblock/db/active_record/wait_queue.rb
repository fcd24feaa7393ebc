# frozen_string_literal: true

# The line of those who wait for a connection of a pool, fibers and threads: what ConnectionPool::Queue has instead of a condition variable (the lock is the pool's, and
# held by all who call).
#
# A waiter in it is kept until a connection is there, and the time that the pool gives for it (checkout_timeout) counts from the last moment the line moved.

require "neverblock/pool/admission_queue"
require "neverblock/pool/progress"

module NeverBlock
  module DB
    module ActiveRecord
      class WaitQueue
        # One who waits.
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

        # @return [NeverBlock::Pool::AdmissionQueue] before it
        attr_reader :admission_queue

        # @param lock [MonitorMixin] the pool
        # @param size [#call] most connections; nil: no limit
        # @param progress [NeverBlock::Pool::Progress]
        # @yieldreturn [Boolean] whether there is a connection
        def initialize(lock, size: -> {}, progress: NeverBlock::Pool::Progress.new, &ready)
          @lock = lock
          @size = size
          @progress = progress
          @ready = ready
          @waiters = {}.compare_by_identity
          @admission_queue = NeverBlock::Pool::AdmissionQueue.new(self)
        end

        # @return [Integer] how many more may wait before as many do as there may be connections; one that stands still has room for all, so that they are told in time
        def room
          size = @size.call || 1
          @progress.stuck? ? size : [size - @waiters.size, 0].max
        end

        # Parks the fiber until it is its turn and a connection is there, or the line has stood still for too long.
        # @param seconds [Numeric, nil] nil: however long
        # @return [Boolean] whether a connection is there
        def wait(seconds = nil)
          waiter = Waiter.new(@lock.new_cond)
          @waiters[waiter] = true
          taken = wait_for_turn(waiter, seconds)
        ensure
          @admission_queue.room_changed if @waiters.delete(waiter)
          signal if waiter.called && !taken # it was interrupted: the next one's turn
        end

        # A connection is there: the first in line is called.
        def signal
          waiter = @waiters.first&.first or return
          @waiters.delete(waiter)
          waiter.called = true
          @progress.moved
          waiter.condition.signal
          @admission_queue.room_changed
        end

        # @return [void]
        def broadcast
          signal until @waiters.empty?
        end

        private

        def wait_for_turn(waiter, seconds)
          since = @progress.now
          until waiter.called && @ready.call
            requeue(waiter) if waiter.called
            left = seconds && @progress.left(since, seconds)
            return give_up if left && left <= 0

            waiter.condition.wait(left)
          end
          true
        end

        # The connection is gone again (the pool was disconnected): this one is still the first.
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
