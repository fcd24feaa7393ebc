# frozen_string_literal: true

# A wait queue for a bounded number of places: first come, first served, for fibers and threads
# alike. A holder that leaves hands its place to the first waiter, so that no later one is served
# before.

require "neverblock/pool/admission_queue"
require "neverblock/pool/progress"
require "neverblock/pool/waiter"

module NeverBlock
  module Pool
    class WaitQueue
      # @return [Integer] how many may be inside
      attr_reader :places
      # @return [AdmissionQueue] where requests wait before they enter this queue
      attr_reader :admission_queue

      # @param places [Integer] how many may be inside
      # @param gauge [Gauge, nil] that is told of it
      def initialize(places, gauge = nil)
        @places = places
        @gauge = gauge
        @lock = Thread::Mutex.new
        @holders = {}.compare_by_identity # owner => the thread it came on
        @waiters = []
        @progress = Progress.new
        @admission_queue = AdmissionQueue.new(self, gauge)
        @pid = Process.pid
      end

      # Called before other methods where the process may have been forked. The parent's fibers
      # still answer that they are alive, and never run here.
      # @return [Boolean] whether it was, since the last call: then nobody is inside and nobody
      #   waits, but the fiber and the thread that call
      def forked?
        return false if @pid == Process.pid

        @lock.synchronize do
          next false if @pid == Process.pid

          @holders.keep_if { |owner,| WaitQueue.here?(owner) }
          @waiters.clear
          @admission_queue = AdmissionQueue.new(self, @gauge)
          @pid = Process.pid
          true
        end
      end

      # @return [Boolean] whether the owner is the fiber or the thread that calls
      def self.here?(owner)
        owner.equal?(Thread.current) || owner.equal?(Fiber.current)
      end

      # Takes a place. When all are held, parks the fiber (elsewhere: blocks the thread) until its
      # turn.
      #
      # The time limit counts from the last moment the queue moved. A long queue that moves is no
      # error; one in which no place is given back is.
      # @param owner [Fiber, Thread] one that holds no place; the place of an owner that has ended
      #   is free
      # @param seconds [Numeric] longest wait while the queue does not move
      # @return [Boolean] false: the time was over, or the wait would never end, because the caller
      #   is a blocking fiber of the loop whose other fibers hold all places
      def enter(owner, seconds)
        @lock.synchronize { free? ? take(owner) : wait(owner, seconds) }
      end

      # Gives the place back. The wait for the lock cannot be interrupted, or the place would be
      # lost.
      # @return [void]
      def leave(owner)
        Compat.shielded do
          @lock.synchronize do
            next unless @holders.delete(owner)

            serve
            tell(:changed)
          end
        end
      end

      # @return [Boolean] whether the owner holds a place
      def inside?(owner)
        @holders.key?(owner)
      end

      # @return [Integer] how many places are held
      def held
        @holders.size
      end

      # @return [Integer] how many wait
      def waiting
        @waiters.size
      end

      # @return [Integer] how many more may wait until there are as many waiters as places. A queue
      #   that does not move has room for more, so that they get their error in time.
      def room
        @progress.stuck? ? @places : [@places - @waiters.size, 0].max
      end

      # Tells the gauge how many are inside, and how many wait, also before the application is
      # called. Never parks.
      # @param event [Symbol] as of Gauge#tell
      # @return [void]
      def tell(event)
        @gauge&.tell(event, @holders.size, @waiters.size + @admission_queue.waiting)
      end

      private

      # While there are waiters, no place is free.
      def free?
        @holders.size < @places
      end

      def take(owner)
        @holders[owner] = Thread.current
        tell(:acquired)
        true
      end

      def wait(owner, seconds)
        waiter = Waiter.new([owner, Thread.current], @gauge)
        since = @progress.now
        @waiters << waiter
        tell(:waits)
        wait_once(waiter, since, seconds) until waiter.granted? || over?(waiter, since, seconds)
        granted = waiter.granted?
      ensure
        withdraw(waiter) unless granted
      end

      def wait_once(waiter, since, seconds)
        waiter.wait(@lock, @progress.left(since, seconds))
      end

      # Before a waiter is refused, places of owners that have ended are handed on.
      def over?(waiter, since, seconds)
        hopeless = hopeless?
        return false unless hopeless || @progress.left(since, seconds) <= 0

        sweep
        return false if waiter.granted?

        @progress.timed_out unless hopeless
        true
      end

      # A fiber that cannot park blocks its thread, and with it the fibers that hold the places.
      def hopeless?
        Fiber.scheduler && !Fiber.current_scheduler && @holders.each_value.all?(Thread.current)
      end

      def sweep
        @holders.delete_if { |owner, thread| !owner.alive? || !thread.alive? }
        serve
      end

      # The wait was ended from outside, perhaps after the place was granted.
      def withdraw(waiter)
        if waiter.granted?
          @holders.delete(waiter.subject.first)
          serve
        else
          @waiters.delete(waiter)
          @admission_queue.room_changed
        end
        tell(:changed)
      end

      def serve
        while free? && (waiter = @waiters.shift)
          owner, thread = waiter.subject
          @holders[owner] = thread
          tell(:acquired)
          @progress.moved
          waiter.grant
        end
        @admission_queue.room_changed
      end
    end
  end
end
