# frozen_string_literal: true

require "json"

module NeverBlock
  module Bench
    # What differs between an older report and a new one: better, worse, or within the noise.
    class Comparison
      # A plotted figure that both reports have.
      Change = Struct.new(:claim, :plot, :scenario, :server, :old, :new, :difference,
                          keyword_init: true)

      # Facts of a machine that change figures.
      FACTS = %w[cpu cores memory_bytes kernel ruby].freeze

      ALLOWED = "--compare takes a NAME.json or report.json that `neverblock bench` wrote, " \
                "or their folder"

      class << self
        # @param path [String] NAME.json, report.json, or a folder of such files
        # @return [Array<Hash{String => Object}>] reports of claims
        # @raise [Error] when it is no report
        def read(path)
          reports = files(path).flat_map { |file| parse(file) }
          raise Error, "#{path} has no report; #{ALLOWED}" if reports.empty?

          # A folder holds the reports of claims, and the whole that is made of them.
          reports.uniq { |report| report["claim"] }
        end

        private

        def files(path)
          File.directory?(path) ? Dir[File.join(path, "*.json")].sort : [path]
        end

        def parse(file)
          data = JSON.parse(File.read(file))
          schema = data["schema"] if data.is_a?(Hash)
          return [data] if schema == Report::SCHEMA && data["figures"].is_a?(Array)
          return data["reports"] if schema == Collection::SCHEMA && data["reports"].is_a?(Array)

          raise Error, "#{file} is not a report; #{ALLOWED}"
        rescue JSON::ParserError
          raise Error, "#{file} is not a report (no JSON); #{ALLOWED}"
        rescue SystemCallError => e
          raise Error, "cannot read the report #{file} (#{reason(e)}); #{ALLOWED}"
        end

        def reason(error)
          error.class.new.message
        end
      end

      # @param old [Array<Hash{String => Object}>]
      # @param new [Array<Hash{String => Object}>]
      def initialize(old, new)
        @old = old.to_h { |report| [report["claim"], Figures.new(report)] }
        @new = new.map { |report| Figures.new(report) }
      end

      # @return [Array<Change>]
      def changes
        @changes ||= @new.flat_map do |figures|
          before = @old[figures.claim]
          before ? figures.plots.flat_map { |plot| of_plot(figures, before, plot) } : []
        end
      end

      # @return [Hash{Symbol => Integer}] number of changes by kind
      def counts
        changes.map { |change| change.difference.kind }.tally
      end

      # @return [Array<String>] what makes the two hard to compare
      def cautions
        [other_machine, other_settings, one_round].compact
      end

      # @return [String] one line
      def summary
        return "Compared: no figure is in both reports." if changes.empty?

        words = { better: "better", worse: "worse", noise: "within the noise",
                  unknown: "not judged (one round has no noise)" }
        "Compared: #{words.filter_map { |kind, word|
          "#{counts[kind]} #{word}" if counts[kind]
        }.join(", ")}."
      end

      private

      def of_plot(figures, before, plot)
        figures.scenarios(plot).flat_map do |scenario|
          figures.rows(plot, scenario).filter_map do |row|
            old = before.find(plot, scenario, row["server"]) or next
            Change.new(claim: figures.claim, plot: plot, scenario: scenario, server: row["server"],
                       old: old, new: row,
                       difference: Difference.between(row, old, plot.better))
          end
        end
      end

      def pairs
        @new.filter_map { |figures| [@old[figures.claim], figures] if @old[figures.claim] }
      end

      def other_machine
        facts = FACTS.select do |fact|
          pairs.any? { |old, new| old.report["machine"][fact] != new.report["machine"][fact] }
        end
        "The machines differ (#{facts.join(", ")})." if facts.any?
      end

      def other_settings
        differ = pairs.any? { |old, new| old.report["settings"] != new.report["settings"] }
        "The length or number of rounds differs." if differ
      end

      def one_round
        return unless counts.key?(:unknown)

        "Figures of one round have no range, so their differences are not judged."
      end
    end
  end
end
