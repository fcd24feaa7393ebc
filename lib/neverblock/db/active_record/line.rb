# frozen_string_literal: true

# The line of those who wait for a connection of a pool, fibers and threads: what ConnectionPool::Queue has instead of a condition variable (the lock is the pool's, and
# held by all who call).
#
# A place in it is kept until a connection is there, and the time that the pool gives for it (checkout_timeout) counts from the last moment the line moved: a long
# line that moves is no error, one that stands still (a leak, a deadlock) is.

require "neverblock/deadline"

module NeverBlock
  module DB
    module ActiveRecord
      class Line
        # One who waits.
        class Place
          # @return [MonitorMixin::ConditionVariable]
          attr_reader :condition
          # @return [Boolean] whether it is this one's turn
          attr_accessor :called

          def initialize(condition)
            @condition = condition
            @called = false
          end
        end

        # @param lock [MonitorMixin] the pool
        # @yieldreturn [Boolean] whether there is a connection
        def initialize(lock, clock: Deadline.method(:now), &ready)
          @lock = lock
          @clock = clock
          @ready = ready
          @places = {}.compare_by_identity
          @moved = @clock.call
        end

        # Parks the fiber until it is its turn and a connection is there, or the line has stood still for too long.
        # @param seconds [Numeric, nil] nil: however long
        # @return [Boolean] whether a connection is there
        def wait(seconds = nil)
          place = Place.new(@lock.new_cond)
          @places[place] = true
          taken = stand(place, seconds)
        ensure
          @places.delete(place)
          signal if place.called && !taken # it was interrupted: the next one's turn
        end

        # A connection is there: the first in line is called.
        def signal
          place = @places.first&.first or return
          @places.delete(place)
          place.called = true
          @moved = @clock.call
          place.condition.signal
        end

        # @return [void]
        def broadcast
          signal until @places.empty?
        end

        private

        def stand(place, seconds)
          since = @clock.call
          until place.called && @ready.call
            step_back(place) if place.called
            left = seconds && (seconds - (@clock.call - [since, @moved].max))
            return false if left && left <= 0

            place.condition.wait(left)
          end
          true
        end

        # The connection is gone again (the pool was disconnected): this one is still the first.
        def step_back(place)
          place.called = false
          @places = { place => true }.compare_by_identity.merge!(@places)
        end
      end
    end
  end
end
