# frozen_string_literal: true

# The front's view of a worker: its channel, its process and its state (see Roster).

module NeverBlock
  module Cluster
    class WorkerHandle
      # @return [Integer] unique in this front
      attr_reader :id
      # @return [Integer] its number, from 0
      attr_reader :number
      # @return [MoldHandle] the mold it was forked from
      attr_reader :mold
      # @return [Channel]
      attr_reader :channel
      # @return [Control]
      attr_reader :control
      # @return [Integer, nil] process id, once known
      attr_reader :pid
      # @return [Symbol] :starting, :ready, :serving or :retiring
      attr_reader :state
      # @return [Float] time at which it entered that state, monotonic seconds
      attr_reader :since
      # @return [String, nil] why it drains once its successor serves
      attr_accessor :leaving
      # @return [String, Symbol, nil] why the front killed it; :discarded: not to be logged
      attr_accessor :doom
      # @return [Float, nil] time at which it was asked for its backtrace
      attr_accessor :asked
      # @return [Float, nil] time at which it got SIGTERM
      attr_accessor :terminated
      # @return [Float, nil] time at which its requests were interrupted
      attr_accessor :interrupted
      # @return [Float, nil] time at which its control socket closed
      attr_accessor :silent
      # @return [Float, nil] time at which its at_exit blocks started
      attr_accessor :ending
      # @return [ExitTime, nil] what they may take, as it was told
      attr_accessor :exit_time
      # @return [Float, nil] time at which they are over; nil: they have not started
      attr_accessor :exit_end
      # @return [String, nil] the problem it has reported
      attr_accessor :problem
      # @return [Array<LaneRules::Rule>, nil] the application's, once known
      attr_accessor :lane_rules
      # @return [Integer] reports of downloads that it has and is not done with
      attr_accessor :reports
      # @return [Boolean] whether the log has told that its state lasts long
      attr_accessor :lingering

      def initialize(id, number, mold, channel, control, since)
        @id = id
        @number = number
        @mold = mold
        @channel = channel
        @control = control
        @state = :starting
        @since = since
        @reports = 0
      end

      def pid=(pid)
        return if @pid

        @pid = pid
        channel.pid = pid
      end

      # @param state [Symbol]
      # @param now [Float]
      def enter(state, now)
        @state = state
        @since = now
        @lingering = false
      end

      # @return [Boolean] whether it is ready and does not serve
      def waiting?
        state == :ready && doom.nil?
      end

      # @return [String]
      def to_s
        "worker #{number}#{" (process #{pid})" if pid}"
      end
    end
  end
end
