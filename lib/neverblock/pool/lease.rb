# frozen_string_literal: true

# A place of a FiberedConnectionPool while a fiber has it, and the connection in it once there is one.

module NeverBlock
  module Pool
    class Lease
      # @return what `connect` has made
      attr_reader :connection

      # @return [Thread] the thread of the fiber that has it
      attr_reader :thread

      # @return [Fiber, nil] who has it; nil once only a weak reference is kept
      attr_accessor :fiber

      # @return [Boolean] whether the connection must not be used again
      attr_accessor :spoiled

      def initialize
        @thread = Thread.current
        @fiber = Fiber.current
        @connected = @spoiled = false
      end

      def connected?
        @connected
      end

      def connection=(connection)
        @connection = connection
        @connected = true
        @spoiled = false
      end

      # @return [Boolean] whether somebody else may have the connection next
      def good?
        @connected && !@spoiled
      end
    end
  end
end
