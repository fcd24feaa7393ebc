# frozen_string_literal: true

module NeverBlock
  module Bench
    # Median and spread of a figure over the rounds. The spread is the noise of the measurement.
    Summary = Struct.new(:median, :low, :high, :rounds, keyword_init: true) do
      # @param values [Array<Numeric, nil>] one for each round; nil: a round without a figure
      # @return [Summary, nil] nil when no round gave a figure
      def self.of(values)
        sorted = values.compact.sort
        return nil if sorted.empty?

        middle = sorted.size / 2
        median = sorted.size.odd? ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0
        new(median: median, low: sorted.first, high: sorted.last, rounds: sorted.size).freeze
      end
    end
  end
end
