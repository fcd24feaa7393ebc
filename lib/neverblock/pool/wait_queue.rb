# frozen_string_literal: true

# The line before something of which there are only so many places: first come, first served, whatever fibers and threads they are that come. Who leaves gives
# the place to the first who waits, so that nobody who comes later is served before.

require "neverblock/pool/admission_queue"
require "neverblock/pool/progress"
require "neverblock/pool/waiter"

module NeverBlock
  module Pool
    class WaitQueue
      # @return [Integer] how many may be inside
      attr_reader :places
      # @return [AdmissionQueue] before it
      attr_reader :admission_queue

      # @param places [Integer]
      def initialize(places)
        @places = places
        @lock = Thread::Mutex.new
        @holders = {}.compare_by_identity # owner => the thread it came on
        @waiters = []
        @progress = Progress.new
        @admission_queue = AdmissionQueue.new(self)
      end

      # Comes in; when all places are held, parks the fiber (elsewhere: the thread) until its turn.
      #
      # The time counts from the last moment the line moved: a long line that is being served is no error; one in which nobody gives a place back is.
      # @param owner [Fiber, Thread] one that is not inside; a place whose owner has ended is free
      # @param seconds [Numeric] longest wait without the line moving
      # @return [Boolean] false: the time was over, or waiting would never end (a blocking fiber of the loop whose other fibers hold all places)
      def enter(owner, seconds)
        @lock.synchronize { free? ? take(owner) : wait(owner, seconds) }
      end

      # Gives the place back. A wait for the lock is not ended from outside, or the place would be lost.
      # @return [void]
      def leave(owner)
        Compat.shielded do
          @lock.synchronize { serve if @holders.delete(owner) }
        end
      end

      # @return [Boolean] whether it is inside
      def inside?(owner)
        @holders.key?(owner)
      end

      # @return [Integer] how many are inside
      def held
        @holders.size
      end

      # @return [Integer] how many wait
      def waiting
        @waiters.size
      end

      # @return [Integer] how many more may wait before as many do as there are places; one that stands still has room for all, so that they are told in time
      def room
        @progress.stuck? ? @places : [@places - @waiters.size, 0].max
      end

      private

      # While anybody waits no place is free.
      def free?
        @holders.size < @places
      end

      def take(owner)
        @holders[owner] = Thread.current
        true
      end

      def wait(owner, seconds)
        waiter = Waiter.new([owner, Thread.current])
        since = @progress.now
        @waiters << waiter
        wait_once(waiter, since, seconds) until waiter.granted? || over?(waiter, since, seconds)
        granted = waiter.granted?
      ensure
        withdraw(waiter) unless granted
      end

      def wait_once(waiter, since, seconds)
        waiter.wait(@lock, @progress.left(since, seconds))
      end

      # Before anybody is refused, the places of those who have ended without a word are given on.
      def over?(waiter, since, seconds)
        hopeless = hopeless?
        return false unless hopeless || @progress.left(since, seconds) <= 0

        sweep
        return false if waiter.granted?

        @progress.timed_out unless hopeless
        true
      end

      # A fiber that cannot park keeps its thread, and with it those that could give a place back.
      def hopeless?
        Fiber.scheduler && !Fiber.current_scheduler && @holders.each_value.all?(Thread.current)
      end

      def sweep
        @holders.delete_if { |owner, thread| !owner.alive? || !thread.alive? }
        serve
      end

      # Its wait was ended from outside, maybe when it was its turn.
      def withdraw(waiter)
        if waiter.granted?
          @holders.delete(waiter.subject.first)
          serve
        else
          @waiters.delete(waiter)
          @admission_queue.room_changed
        end
      end

      def serve
        while free? && (waiter = @waiters.shift)
          owner, thread = waiter.subject
          @holders[owner] = thread
          @progress.moved
          waiter.grant
        end
        @admission_queue.room_changed
      end
    end
  end
end
