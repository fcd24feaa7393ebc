# frozen_string_literal: true

module NeverBlock
  module Bench
    # The time that a plan still takes: what is planned, at the pace of the runs so far.
    class TimeLeft
      # @param seconds [Numeric] planned
      def initialize(seconds)
        @planned = seconds
        @done = 0.0
        @taken = 0.0
      end

      # A run has ended.
      # @param planned [Numeric] seconds
      # @param taken [Numeric] seconds
      def done(planned, taken)
        @done += planned
        @taken += taken
      end

      # Runs will not be made, for example of a peer that is not installed.
      # @param planned [Numeric] seconds
      def drop(planned)
        @planned -= planned
      end

      # @return [Float] seconds
      def seconds
        pace = @done.positive? ? @taken / @done : 1.0
        [(@planned - @done) * pace, 0].max
      end

      # @return [String] "about 12 min left"
      def to_s
        "about #{Progress.duration(seconds)} left"
      end
    end
  end
end
