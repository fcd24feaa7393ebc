# frozen_string_literal: true

module NeverBlock
  module Bench
    # The difference of two figures of a report, judged by the noise of both.
    # kind is :better, :worse, :noise (their ranges overlap) or :unknown (one round has no range).
    Difference = Struct.new(:kind, :percent, keyword_init: true) do
      # @param figure [Hash{String => Object}] median, low, high, rounds
      # @param base [Hash{String => Object}] what it is compared with
      # @param better [Symbol] :more or :less
      # @return [Difference]
      def self.between(figure, base, better)
        own, other = figure["median"], base["median"]
        percent = (100.0 * (own - other) / other) if other.nonzero?
        new(kind: kind(figure, base, better), percent: percent)
      end

      # @return [Symbol]
      def self.kind(figure, base, better)
        return :unknown unless [figure, base].all? { |one| one["rounds"].to_i > 1 }
        return :noise if figure["low"] <= base["high"] && base["low"] <= figure["high"]

        (figure["median"] > base["median"]) == (better == :more) ? :better : :worse
      end
      private_class_method :kind

      # @return [String] "12 %" without a sign; "from 0" where there is no share
      def size
        percent ? "#{percent.abs.round(percent.abs < 10 ? 1 : 0)} %" : "from 0"
      end
    end
  end
end
