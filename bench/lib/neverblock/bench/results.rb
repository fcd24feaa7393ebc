# frozen_string_literal: true

module NeverBlock
  module Bench
    # The runs of a claim, queried by server, scenario and metric. A failed run has no figures.
    class Results
      # @return [Array<Hash>] as in the report
      attr_reader :runs
      # @return [Array<String>] servers that ran, in the order of the tables
      attr_reader :servers

      # @param runs [Array<Hash>]
      # @param servers [Array<String>]
      def initialize(runs, servers:)
        @runs = runs
        @servers = servers
      end

      # @param metric [String] a key of the runs ("rate", "cpu_us_per_request", "p50_us", ...)
      # @return [Summary, nil] nil when nothing was measured
      def figure(server, scenario, metric)
        Summary.of(by_round(server, scenario, metric).values)
      end

      # Pairs the rounds, so that slow phases of the machine cancel out.
      # @return [Summary, nil] the server's figure divided by the other's in the same round
      def ratio(server, other, scenario, metric, other_scenario: scenario)
        combine(server, other, scenario, metric, other_scenario) do |own, theirs|
          own / theirs.to_f unless theirs.zero?
        end
      end

      # @return [Summary, nil] the server's figure minus the other's in the same round
      def difference(server, other, scenario, metric)
        combine(server, other, scenario, metric, scenario) { |own, theirs| own - theirs }
      end

      # @return [Integer, nil] errors in all rounds; nil when nothing was measured
      def errors(server, scenario)
        counts = by_round(server, scenario, "error_count").values
        counts.empty? ? nil : counts.sum
      end

      # @return [Array<Hash>] runs without figures
      def failures
        runs.select { |run| run["failed"] }
      end

      # @return [Array<Hash>] runs with flags
      def flagged
        runs.reject { |run| run["flags"].to_a.empty? }
      end

      private

      def combine(server, other, scenario, metric, other_scenario)
        theirs = by_round(other, other_scenario, metric)
        own = by_round(server, scenario, metric)
        Summary.of(own.map { |round, value| yield(value, theirs[round]) if theirs[round] })
      end

      def by_round(server, scenario, metric)
        runs.each_with_object({}) do |run, found|
          next unless run["server"] == server && run["scenario"] == scenario && run[metric]

          found[run["round"]] = run[metric]
        end
      end
    end
  end
end
