# frozen_string_literal: true

module NeverBlock
  module Bench
    # The figures of a claim's report, as its JSON holds them, by plot and load.
    class Figures
      # @return [Hash{String => Object}]
      attr_reader :report

      # @param report [Hash{String => Object}] as NAME.json has it
      def initialize(report)
        @report = report
        @groups = report["figures"].group_by { |row| row["metric"] }
      end

      # @return [String]
      def claim
        @report["claim"]
      end

      # @return [Array<Plot>] those that have figures
      def plots
        Plots.of(claim).select { |plot| scenarios(plot).any? }
      end

      # @param plot [Plot]
      # @return [Array<String>] names of the loads with figures
      def scenarios(plot)
        @report["scenarios"].map { |one| one["name"] }
          .select { |name| rows(plot, name).any? }
      end

      # @param plot [Plot]
      # @param scenario [String]
      # @return [Array<Hash{String => Object}>] a figure for each server
      def rows(plot, scenario)
        # In an open loop the rate is what was asked, so it says nothing of a server.
        return [] if plot.metric == "rate" && open_loop?(scenario)

        @groups.fetch(plot.metric, []).select { |row| row["scenario"] == scenario }
      end

      # @param plot [Plot]
      # @param scenario [String]
      # @return [Array<Hash{String => Object}>] figures of 2008-2009
      def published(plot, scenario)
        @report["published"].to_a.select do |row|
          row["metric"] == plot.metric && row["scenario"] == scenario
        end
      end

      # @return [Figures, nil] nil if there is no such figure
      def find(plot, scenario, server)
        rows(plot, scenario).find { |row| row["server"] == server }
      end

      private

      def open_loop?(scenario)
        @groups.fetch("late_p99_us", []).any? { |row| row["scenario"] == scenario }
      end
    end
  end
end
