# frozen_string_literal: true

# A place of a FiberedConnectionPool while a fiber holds it, with its connection once there is one.

require "neverblock/pool/holder"

module NeverBlock
  module Pool
    class Lease < Holder
      # @return [Object] what `connect` has returned
      attr_reader :connection

      # @return [Boolean] whether the connection must not be used again
      attr_accessor :spoiled

      def initialize
        super
        @connected = @spoiled = false
      end

      # @return [Boolean] whether there is a connection, used or not
      def connected?
        @connected
      end

      # Sets a new connection, which may be used.
      def connection=(connection)
        @connection = connection
        @connected = true
        @spoiled = false
      end

      # @return [Boolean] whether another holder may have the connection next
      def good?
        @connected && !@spoiled
      end
    end
  end
end
