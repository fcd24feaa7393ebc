# frozen_string_literal: true

# The front's view of a mold: its process, its control socket, and whether it has loaded the
# application. Mold describes the messages.

require "neverblock/cluster/control"

module NeverBlock
  module Cluster
    class MoldHandle
      # @return [Integer]
      attr_reader :pid
      # @return [Control]
      attr_reader :control
      # @return [Symbol] :loading, :loaded or :ended
      attr_accessor :state
      # @return [Float, nil] time at which its end of the control socket closed, monotonic seconds
      attr_accessor :silent
      # @return [String, nil] the problem it has reported
      attr_accessor :problem
      # @return [Float, nil] time at which it was told to quit or was discarded, monotonic seconds
      attr_accessor :quits
      # @return [Boolean] whether one of its workers has been ready
      attr_accessor :proven
      # @return [Float] time of its start, monotonic seconds
      attr_reader :since

      # @param pid [Integer]
      # @param control [Control]
      # @param since [Float]
      def initialize(pid, control, since)
        @pid = pid
        @control = control
        @since = since
        @state = :loading
      end

      # Starts a mold as a new process.
      # @param origin [Origin]
      # @param since [Float]
      # @return [MoldHandle]
      # @raise [SystemCallError]
      def self.start(origin, since)
        ours, theirs = Control.pair
        new(origin.spawn(theirs), Control.new(ours), since)
      rescue SystemCallError
        ours&.close
        raise
      ensure
        theirs&.close
      end

      def loaded?
        state == :loaded
      end

      def ended?
        state == :ended
      end
    end
  end
end
