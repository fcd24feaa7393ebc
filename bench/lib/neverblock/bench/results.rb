# frozen_string_literal: true

module NeverBlock
  module Bench
    # The runs of a claim, asked by server, scenario and metric. A run that failed gives no figures.
    class Results
      # @return [Array<Hash>] as written to the report
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

      # Pairs the rounds, so that what slows the whole machine for a while cancels out.
      # @return [Summary, nil] of server's figure over the other's in the same round
      def ratio(server, other, scenario, metric, other_scenario: scenario)
        combine(server, other, scenario, metric, other_scenario) { |own, theirs| own / theirs.to_f unless theirs.zero? }
      end

      # @return [Summary, nil] of server's figure minus the other's in the same round
      def difference(server, other, scenario, metric)
        combine(server, other, scenario, metric, scenario) { |own, theirs| own - theirs }
      end

      # @return [Integer, nil] errors in all rounds; nil when nothing was measured
      def errors(server, scenario)
        counts = by_round(server, scenario, "error_count").values
        counts.empty? ? nil : counts.sum
      end

      # @return [Array<Hash>] runs that gave no figures
      def failures
        runs.select { |run| run["failed"] }
      end

      # @return [Array<Hash>] runs that have something to warn of
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
