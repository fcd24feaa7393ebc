# frozen_string_literal: true

# Where requests wait that would go straight into a wait_queue which is as long as it is to be: before the application is called, so that they hold little. First come, first
# served. While any of a request_class wait here, the loop keeps back more of that request_class (Executor.shut_like): there they hold no fiber yet, and another worker may be free sooner.
#
# As many are woken as the wait_queue has room for. Each looks for itself, in the moment in which it goes in, and goes back to its place when there is none any more;
# each that goes in has others woken. So nobody is held while there is room, whatever those do that were let in: use the wait_queue, wait for something else, or end.
#
# Executors know nothing of each other's turns: each has a queue of its own here, and one that is busy keeps nobody of another's waiting.

module NeverBlock
  module Pool
    class AdmissionQueue
      # Those who wait on one executor's thread, and the likes that are shut meanwhile.
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

        # @param request_class [Integer, nil] of the request
        # @return [Thread::Queue] its place, the last
        def enter(request_class)
          @shut << request_class if request_class && Executor.shut_like(request_class)
          Thread::Queue.new.tap { |place| @places << place }
        end

        # @return [void]
        def leave(place)
          first?(place) ? @places.shift : @places.delete(place)
          @shut.each { |request_class| Executor.open_like(request_class) }.clear if empty?
        end

        # @return [Boolean]
        def first?(place)
          @places.first.equal?(place)
        end

        # The first of them look for themselves. Those who have been woken and have not looked yet are among them.
        # @return [void]
        def wake(count)
          @places.first(count).each { |place| place << true if place.empty? }
        end
      end

      # @param wait_queue [#room] how many more may wait in it; any thread, without a lock
      def initialize(wait_queue)
        @wait_queue = wait_queue
        @lock = Thread::Mutex.new
        @queues = {} # by thread; replaced when one is added
      end

      # Parks the fiber while the wait_queue has no room, and while somebody is here before it.
      # @param request_class [Integer, nil] of the request that the fiber runs (Executor.like_of): while it waits no more of that request_class begin
      # @return [void]
      def pass(request_class = nil)
        queue = @queues[Thread.current] || add_queue
        return if queue.empty? && @wait_queue.room.positive?

        place = queue.enter(request_class)
        begin
          place.pop until turn_of?(place, queue)
        ensure
          queue.leave(place)
          wake(queue)
        end
      end

      # The wait_queue has become shorter. Never parks.
      # @return [void]
      def room_changed
        @queues.each_value { |queue| wake(queue) }
      end

      # @return [Integer] how many are held here; more of their likes may wait in the loop
      def waiting
        @queues.each_value.sum(&:size)
      end

      private

      def add_queue
        @lock.synchronize { (@queues = { Thread.current => ExecutorQueue.new, **@queues }).fetch(Thread.current) }
      end

      # What woke it was for the look it takes now.
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
