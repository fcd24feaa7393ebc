# frozen_string_literal: true

# The line of those who wait for a connection of a pool, fibers and threads: what ConnectionPool::Queue has instead of a condition variable (the lock is the pool's, and
# held by all who call).
#
# A place in it is kept until a connection is there, and the time that the pool gives for it (checkout_timeout) counts from the last moment the line moved.

require "neverblock/pool/gate"
require "neverblock/pool/pace"

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

        # @return [NeverBlock::Pool::Gate] before it
        attr_reader :gate

        # @param lock [MonitorMixin] the pool
        # @param size [#call] most connections; nil: no limit
        # @param pace [NeverBlock::Pool::Pace]
        # @yieldreturn [Boolean] whether there is a connection
        def initialize(lock, size: -> {}, pace: NeverBlock::Pool::Pace.new, &ready)
          @lock = lock
          @size = size
          @pace = pace
          @ready = ready
          @places = {}.compare_by_identity
          @gate = NeverBlock::Pool::Gate.new(self)
        end

        # @return [Integer] how many more may wait before as many do as there may be connections; one that stands still has room for all, so that they are told in time
        def room
          size = @size.call || 1
          @pace.still? ? size : [size - @places.size, 0].max
        end

        # Parks the fiber until it is its turn and a connection is there, or the line has stood still for too long.
        # @param seconds [Numeric, nil] nil: however long
        # @return [Boolean] whether a connection is there
        def wait(seconds = nil)
          place = Place.new(@lock.new_cond)
          @places[place] = true
          taken = stand(place, seconds)
        ensure
          @gate.look if @places.delete(place)
          signal if place.called && !taken # it was interrupted: the next one's turn
        end

        # A connection is there: the first in line is called.
        def signal
          place = @places.first&.first or return
          @places.delete(place)
          place.called = true
          @pace.moved
          place.condition.signal
          @gate.look
        end

        # @return [void]
        def broadcast
          signal until @places.empty?
        end

        private

        def stand(place, seconds)
          since = @pace.now
          until place.called && @ready.call
            step_back(place) if place.called
            left = seconds && @pace.left(since, seconds)
            return give_up if left && left <= 0

            place.condition.wait(left)
          end
          true
        end

        # The connection is gone again (the pool was disconnected): this one is still the first.
        def step_back(place)
          place.called = false
          @places = { place => true }.compare_by_identity.merge!(@places)
        end

        def give_up
          @pace.given_up
          false
        end
      end
    end
  end
end
