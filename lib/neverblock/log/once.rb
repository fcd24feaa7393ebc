# frozen_string_literal: true

module NeverBlock
  class Log
    # What the log tells once for each name, and of the first names alone: others choose them, so
    # that their number must be bounded. Thread-safe.
    class Once
      # @param most [Integer] names that are told
      def initialize(most)
        @most = most
        @told = {}
        @lock = Thread::Mutex.new
      end

      # @param name [String]
      # @return [Boolean] whether to tell it; true once for each of the first names
      def new?(name)
        @lock.synchronize { @told.size < @most && !@told.key?(name) && (@told[name] = true) }
      end

      # @return [Boolean] whether no further name is told
      def full? = @told.size >= @most
    end
  end
end
