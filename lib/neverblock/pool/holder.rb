# frozen_string_literal: true

# One that has a place of a pool, or waits for one: a fiber of a thread.

module NeverBlock
  module Pool
    class Holder
      # @return [Thread]
      attr_reader :thread

      # @return [Fiber, nil] nil once the pool has only a weak reference to it
      attr_accessor :fiber

      def initialize
        @thread = Thread.current
        @fiber = Fiber.current
      end
    end
  end
end
