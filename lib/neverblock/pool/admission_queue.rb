# frozen_string_literal: true

# Where requests wait, before the application is called, that would enter a full wait queue at once.
# They hold little memory here. First come, first served. While requests of a class wait here, the
# loop keeps more requests of that class in its own queue (Executor.close_request_class). There they
# hold no fiber, and another worker may be free sooner.
#
# As many waiters are woken as the wait queue has room for. Each asks for room itself when it runs,
# and stays in its place when there is none. Each that goes on has others woken. So nobody waits
# while there is room, whatever the admitted requests do: enter the queue, wait for something else,
# or end.
#
# Each executor's thread has a queue of its own here, so that a busy executor does not delay the
# requests of another one.

module NeverBlock
  module Pool
    class AdmissionQueue
      # The waiters of one executor's thread, and the request classes that are shut meanwhile.
      class ExecutorQueue
        def initialize
          @places = []
          @shut = []
        end

        # @return [Boolean]
        def empty?
          @places.empty?
        end

        # @return [Integer]
        def size
          @places.size
        end

        # @return [Thread::Queue] a request's place, the last
        def enter
          Thread::Queue.new.tap { |place| @places << place }
        end

        # @param request_class [Integer, nil] of a request here; nil: unknown
        # @return [Boolean, nil] whether no more requests of the class begin
        def shut(request_class)
          shut = request_class && Executor.close_request_class(request_class)
          @shut << request_class if shut
          shut
        end

        # Removes a place. With the last one, the request classes are opened again.
        def leave(place)
          first?(place) ? @places.shift : @places.delete(place)
          @shut.each { |request_class| Executor.open_request_class(request_class) }.clear if empty?
        end

        # @return [Boolean] whether the place is the first
        def first?(place)
          @places.first.equal?(place)
        end

        # Wakes the first waiters, among them those that were woken and have not run yet.
        # @param count [Integer] how many
        # @return [void]
        def wake(count)
          @places.first(count).each { |place| place << true if place.empty? }
        end
      end

      # @param wait_queue [#room] tells how many more may wait in it, on any thread, without a lock
      #   With a gauge it also has #tell, which counts those that wait here.
      # @param gauge [Gauge, nil] of the pool
      def initialize(wait_queue, gauge = nil)
        @wait_queue = wait_queue
        @gauge = gauge
        @lock = Thread::Mutex.new
        @queues = {} # by thread; replaced by a new Hash when one is added
        @waiting = 0
      end

      # @return [Integer] how many wait here; more of their classes may wait in the loop
      attr_reader :waiting

      # Parks the fiber while the wait queue has no room, and while others wait here before it.
      # Until it goes on, no more requests of the class begin.
      # @param request_class [Integer, nil] of the fiber's request (Executor.request_class_of)
      # @return [void]
      def pass(request_class = nil)
        queue = @queues[Thread.current] || add_queue
        return if queue.empty? && @wait_queue.room.positive?

        place = queue.enter
        @waiting += 1
        begin
          tell(queue.shut(request_class) ? :held_back : :changed)
          wait(place) until turn_of?(place, queue)
        ensure
          queue.leave(place)
          @waiting -= 1
          tell(:changed)
          wake(queue)
        end
      end

      # The wait queue has become shorter: wakes waiters. Never parks.
      # @return [void]
      def room_changed
        @queues.each_value { |queue| wake(queue) }
      end

      private

      def add_queue
        @lock.synchronize do
          @queues = { Thread.current => ExecutorQueue.new, **@queues }
          @queues.fetch(Thread.current)
        end
      end

      def tell(event)
        @wait_queue.tell(event) if @gauge
      end

      def wait(place)
        @gauge ? @gauge.next_wait : Scheduler.next_wait(:pool)
        place.pop
      end

      # Removes the wake-up that led here, then asks for room.
      def turn_of?(place, queue)
        place.clear
        queue.first?(place) && @wait_queue.room.positive?
      end

      def wake(queue)
        queue.wake(@wait_queue.room) unless queue.empty?
      end
    end
  end
end
