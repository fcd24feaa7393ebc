# frozen_string_literal: true

# Where requests wait that would go straight into a line which is as long as it is to be: before the application is called, so that they hold little. First come, first
# served.
#
# As many are woken as the line has room for. Each looks for itself, in the moment in which it goes in, and goes back to its place when there is none any more;
# each that goes in has others woken. So nobody is held while there is room, whatever those do that were let in: use the line, wait for something else, or end.
#
# Executors know nothing of each other's turns: each has a queue of its own here, and one that is busy keeps nobody of another's waiting.

module NeverBlock
  module Pool
    class Gate
      # @param line [#room] how many more may wait in it; any thread, without a lock
      def initialize(line)
        @line = line
        @lock = Thread::Mutex.new
        @queues = {} # thread to its queue; replaced when one is added
      end

      # Parks the fiber while the line has no room, and while somebody is here before it.
      # @return [void]
      def pass
        queue = @queues[Thread.current] || add_queue
        return if queue.empty? && @line.room.positive?

        place = Thread::Queue.new
        begin
          queue << place
          place.pop until turn_of?(place, queue)
        ensure
          queue.first.equal?(place) ? queue.shift : queue.delete(place)
          wake(queue)
        end
      end

      # The line has become shorter. Never parks.
      # @return [void]
      def look
        @queues.each_value { |queue| wake(queue) }
      end

      # @return [Integer] how many are held
      def held
        @queues.each_value.sum(&:size)
      end

      private

      def add_queue
        @lock.synchronize { (@queues = { Thread.current => [], **@queues }).fetch(Thread.current) }
      end

      # What woke it was for the look it takes now.
      def turn_of?(place, queue)
        place.clear
        queue.first.equal?(place) && @line.room.positive?
      end

      # Those who have been woken and have not looked yet are among the first.
      def wake(queue)
        return if queue.empty?

        queue.first(@line.room).each { |place| place << true if place.empty? }
      end
    end
  end
end
