# frozen_string_literal: true

require "digest"
require "erb"

module NeverBlock
  module Bench
    # The reports as one HTML page. It has no script and asks for nothing: the plots are SVG, and
    # the Content-Security-Policy allows the page's own style sheet alone.
    class Page
      FOLDER = File.join(__dir__, "page")
      TEMPLATE = ERB.new(File.read(File.join(FOLDER, "page.html.erb")), trim_mode: "-")
      STYLE = File.read(File.join(FOLDER, "style.css"))
      # Names of the results in words and as a class of the style sheet.
      RESULTS = { "met" => "met", "missed" => "missed", "unknown" => "not measured" }.freeze
      KINDS = { better: "better", worse: "worse", noise: "within the noise",
                unknown: "not judged" }.freeze

      # A bar of a plot, in percent of the plot's width; low and high are nil for one round.
      Bar = Struct.new(:name, :kind, :text, :width, :low, :high, keyword_init: true)

      # @param collection [Collection]
      def initialize(collection)
        @collection = collection
      end

      # @return [String]
      def to_html
        TEMPLATE.result(binding)
      end

      private

      def h(text)
        ERB::Util.html_escape(text.to_s)
      end

      def style_hash
        "sha256-#{Digest::SHA256.base64digest(STYLE)}"
      end

      def reports
        @reports ||= @collection.reports.map { |report| Figures.new(report) }
      end

      def comparison
        @comparison ||= @collection.comparison
      end

      # The changed figures; figures within the noise are only counted.
      def changes
        comparison.changes.select { |one| %i[better worse].include?(one.difference.kind) }
      end

      # @return [Array<String>] machine and versions
      def machine(report)
        facts = report["machine"]
        memory = facts["memory_bytes"]
        [["Processor", [facts["cores"] && "#{facts["cores"]} cores", facts["cpu"]]],
         ["Memory", [memory && "#{Cell.number(memory / 1e9, digits: 1)} GB"]],
         ["System", [facts["system"], facts["kernel"]]], ["Ruby", [facts["ruby"]]],
         ["Load before", [facts["load_average"]&.join(", ")]],
         ["Load generator", [report["load_generator"]]]]
          .map { |name, values| [name, values.compact.join(", ")] }
          .reject { |_, text| text.empty? }
      end

      def server_text(server)
        yjit = { true => "YJIT", false => "without YJIT" }[server["yjit"]]
        [server["version"] || "version unknown", server["settings"], yjit].compact.join(", ")
      end

      def length_text(report)
        settings = report["settings"]
        rounds = settings["rounds"]
        look = "; a quick look, too short to quote" if settings["quick"]
        "#{report["started_at"]} to #{report["finished_at"]}; #{rounds} " \
          "#{rounds == 1 ? "round" : "rounds"} of #{settings["seconds"]} s or more#{look}"
      end

      # @return [Array<Bar>] on a scale from 0 to the largest value of this load
      def bars(figures, plot, scenario)
        rows = figures.rows(plot, scenario)
        old = figures.published(plot, scenario)
        most = [*rows.map { |row| row["high"] }, *old.map { |row| row["value"] }].max.to_f
        share = ->(value) { most.positive? ? (100.0 * value / most).clamp(0, 100).round(2) : 0 }
        rows.map { |row| measured(row, plot, share) } +
          old.map { |row| published(row, plot, share) }
      end

      def measured(row, plot, share)
        range = row["rounds"].to_i > 1 ? [share.call(row["low"]), share.call(row["high"])] : []
        kind = row["server"].start_with?(Reading::OWN) ? "own" : "peer"
        Bar.new(name: row["server"], kind: kind, text: plot.spread(row),
                width: share.call(row["median"]), low: range[0], high: range[1])
      end

      def published(row, plot, share)
        Bar.new(name: row["name"], kind: "old", text: plot.text(row["value"]),
                width: share.call(row["value"]))
      end
    end
  end
end
