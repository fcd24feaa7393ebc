# frozen_string_literal: true

module NeverBlock
  module Bench
    # Warnings about a run whose figures are doubtful, one line each, the same for every kind of
    # measurement.
    module Flags
      # Other work, in processors, above which figures are doubtful.
      OTHERS_MAX = 0.1

      # @param counts [Hash{String => Integer}] errors by kind
      # @return [String, nil]
      def self.errors(counts)
        seen = counts.select { |_, count| count.positive? }
        "errors: #{seen.map { |pair| pair.join(" ") }.join(", ")}" unless seen.empty?
      end

      # @param share [Float] processors' worth of other work
      # @return [String, nil]
      def self.others(share)
        "other work took #{(share * 100).round} % of a processor" if share > OTHERS_MAX
      end
    end
  end
end
