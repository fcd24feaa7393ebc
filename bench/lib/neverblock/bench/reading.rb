# frozen_string_literal: true

module NeverBlock
  module Bench
    # Sentences about a claim's report. They say only what the figures bear: a difference counts
    # where the ranges of the rounds do not overlap.
    class Reading
      # Loads that a sentence names.
      NAMED_MAX = 3
      WORDS = { better: "ahead in", worse: "behind in",
                noise: "no difference beyond the noise in",
                unknown: "not judged (one round has no noise) in" }.freeze
      # Prefix of the servers that are ours.
      OWN = "neverblock"

      # @param figures [Figures] of a claim's report
      def initialize(figures)
        @figures = figures
      end

      # @return [Array<String>]
      def sentences
        [verdicts, *@figures.plots.filter_map { |plot| sentence(plot) }, errors, flags,
         missing].compact
      end

      private

      def report
        @figures.report
      end

      def verdicts
        counts = report["verdicts"].to_a.map { |one| one["status"].to_s }.tally
        return if counts.empty?

        words = { "met" => "met", "missed" => "missed", "unknown" => "not measured" }
        parts = words.filter_map { |key, word| "#{counts[key]} #{word}" if counts[key] }
        "Wanted values: #{parts.join(", ")}."
      end

      def sentence(plot)
        compared = @figures.scenarios(plot).filter_map do |scenario|
          found = difference(plot, scenario) and [scenario, found]
        end
        return if compared.empty?

        groups = compared.group_by { |_, found| found.kind }
        parts = WORDS.keys.filter_map { |kind| part(kind, groups[kind]) }
        "#{plot.title}, the best of NeverBlock beside the best of the others: " \
          "#{parts.join("; ")}."
      end

      def difference(plot, scenario)
        own, others = @figures.rows(plot, scenario).partition do |row|
          row["server"].start_with?(OWN)
        end
        return if own.empty? || others.empty?

        Difference.between(best(own, plot), best(others, plot), plot.better)
      end

      def best(rows, plot)
        rows.public_send(plot.better == :more ? :max_by : :min_by) { |row| row["median"] }
      end

      def part(kind, pairs)
        return unless pairs

        text = "#{WORDS.fetch(kind)} #{pairs.size} #{pairs.size == 1 ? "load" : "loads"}"
        return text if %i[noise unknown].include?(kind)

        "#{text} (#{named(pairs)})"
      end

      def named(pairs)
        texts = pairs.map { |scenario, found| "#{scenario}: by #{found.size}" }
        texts.size > NAMED_MAX ? [*texts.first(NAMED_MAX), "and more"].join("; ") : texts.join("; ")
      end

      def errors
        failing = report["figures"].select do |row|
          row["metric"] == "error_count" && row["high"].positive?
        end
        return if failing.empty?

        names = failing.map { |row| "#{row["server"]}, #{row["scenario"]}" }
        shown = names.size > NAMED_MAX ? [*names.first(NAMED_MAX), "and more"] : names
        "Errors were counted in: #{shown.join("; ")}."
      end

      def flags
        flagged = report["flagged_runs"].to_i
        return if flagged.zero?

        "#{flagged} of #{report["run_count"]} runs have a warning " \
          "(other work on the machine, errors, or a load generator at its limit)."
      end

      def missing
        count = report["missing"].to_a.size
        "#{count} planned runs are missing; their cells are empty." if count.positive?
      end
    end
  end
end
