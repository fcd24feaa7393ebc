# frozen_string_literal: true

# A mold as the front sees it: its process, its control socket, and whether it has loaded the application. See Mold for what is said.

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
      # @return [Float, nil] since when its end of the control socket is closed
      attr_accessor :silent
      # @return [String, nil] what it said was wrong
      attr_accessor :problem
      # @return [Float, nil] since when it is told to quit, or is of no use
      attr_accessor :quits
      # @return [Boolean] whether a worker of it has been ready
      attr_accessor :proven
      # @return [Float] when it was started, monotonic seconds
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

      # Starts one as a new process.
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
