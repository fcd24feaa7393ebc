# frozen_string_literal: true

module NeverBlock
  module Bench
    # What a run's figures are told with where they are not to be trusted: one line each, the same from every kind of measurement.
    module Flags
      # Above this many processors' worth of other work the figures of a run are doubtful.
      OTHERS_MAX = 0.1

      # @param counts [Hash{String => Integer}] of each kind of error; kinds that were not seen may be in it
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
