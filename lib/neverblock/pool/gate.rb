# frozen_string_literal: true

# Where requests wait that would go straight into a line which is as long as it is to be: before the application is called, so that they hold little. First come, first
# served. While any of a request class wait here, the loop keeps back more of that class (Executor.close_request_class): there they hold no fiber yet, and another
# worker may be free sooner.
#
# As many are woken as the line has room for. Each looks for itself, in the moment in which it goes in, and goes back to its place when there is none any more;
# each that goes in has others woken. So nobody is held while there is room, whatever those do that were let in: use the line, wait for something else, or end.
#
# Executors know nothing of each other's turns: each has a row of its own here, and one that is busy keeps nobody of another's waiting.

module NeverBlock
  module Pool
    class Gate
      # Those who wait on one executor's thread, and the request classes that are closed meanwhile.
      class Row
        def initialize
          @places = []
          @closed = []
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
          @closed << request_class if request_class && Executor.close_request_class(request_class)
          Thread::Queue.new.tap { |place| @places << place }
        end

        # @return [void]
        def leave(place)
          first?(place) ? @places.shift : @places.delete(place)
          @closed.each { |request_class| Executor.open_request_class(request_class) }.clear if empty?
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

      # @param line [#room] how many more may wait in it; any thread, without a lock
      def initialize(line)
        @line = line
        @lock = Thread::Mutex.new
        @rows = {} # by thread; replaced when one is added
      end

      # Parks the fiber while the line has no room, and while somebody is here before it.
      # @param request_class [Integer, nil] of the request that the fiber runs (Executor.request_class_of): while it waits no more of that class begin
      # @return [void]
      def pass(request_class = nil)
        row = @rows[Thread.current] || add_row
        return if row.empty? && @line.room.positive?

        place = row.enter(request_class)
        begin
          place.pop until turn_of?(place, row)
        ensure
          row.leave(place)
          wake(row)
        end
      end

      # The line has become shorter. Never parks.
      # @return [void]
      def look
        @rows.each_value { |row| wake(row) }
      end

      # @return [Integer] how many are held here; more of their classes may wait in the loop
      def held
        @rows.each_value.sum(&:size)
      end

      private

      def add_row
        @lock.synchronize { (@rows = { Thread.current => Row.new, **@rows }).fetch(Thread.current) }
      end

      # What woke it was for the look it takes now.
      def turn_of?(place, row)
        place.clear
        row.first?(place) && @line.room.positive?
      end

      def wake(row)
        row.wake(@line.room) unless row.empty?
      end
    end
  end
end
