# frozen_string_literal: true

# A worker as the front sees it: its channel, its process, where it is in its life (see Roster), and since when.

module NeverBlock
  module Cluster
    class WorkerHandle
      # @return [Integer] unique in this front
      attr_reader :id
      # @return [Integer] of its place, 0..
      attr_reader :number
      # @return [MoldHandle] whose child it is
      attr_reader :mold
      # @return [Channel]
      attr_reader :channel
      # @return [Control]
      attr_reader :control
      # @return [Integer, nil] process id, once known
      attr_reader :pid
      # @return [Symbol] :starting, :ready, :serving or :retiring
      attr_reader :state
      # @return [Float] since when it is in that state, monotonic seconds
      attr_reader :since
      # @return [String, nil] why it retires once its successor serves
      attr_accessor :leaving
      # @return [String, Symbol, nil] why it was killed by the front; :discarded: nobody needs to know
      attr_accessor :doom
      # @return [Float, nil] when it was asked where it is stuck
      attr_accessor :asked
      # @return [Float, nil] when it had SIGTERM
      attr_accessor :terminated
      # @return [Float, nil] since when its control socket has been closed
      attr_accessor :silent
      # @return [Float, nil] since when it runs the application's at_exit
      attr_accessor :ending
      # @return [String, nil] what it said was wrong
      attr_accessor :problem
      # @return [Integer] reports of downloads it was given and has not told the end of
      attr_accessor :reports
      # @return [Boolean] whether it was said that its state lasts long
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

      # @return [String]
      def to_s
        "worker #{number}#{" (process #{pid})" if pid}"
      end
    end
  end
end
