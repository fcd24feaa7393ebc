# frozen_string_literal: true

require "json"

module Gems
  # A part of docs/COMPATIBILITY.md, from one report of each Ruby (results.rb).
  class Document
    RESULTS = File.expand_path("../results", __dir__)
    WORDS = { "same" => "as on threads", "differs" => "differs", "skipped" => "-" }.freeze

    # The document's lines are longer than those of this file.
    METHOD =
      "An ordinary use of each gem\n" \
      "(`test/gems/uses`), 20 requests at once beside two that compute, time slices of 1 ms: " \
      "every answer is compared with what Puma's threads give, and so is what is left of " \
      "descriptors,\n" \
      "connections, threads and fibers. **as on threads**: no answer was another. " \
      "**differs**: below.\n" \
      "What Sentry, Datadog, New Relic, Elastic APM, Scout, Honeybadger, Bugsnag, Rollbar and " \
      "rack-mini-profiler send of each request is compared as well " \
      "(`test/gems/agents_test.rb`), with one\n" \
      "process and two workers: nothing is lost and nothing is another request's " \
      "(docs/guides/tracing.md)."
    private_constant :METHOD

    # @return [Document] of what runs have found
    def self.read
      reports = Dir[File.join(RESULTS, "*.json")].map { |file| JSON.parse(File.read(file)) }
      new(reports.sort_by { |report| Gem::Version.new(report["ruby"]) })
    end

    # @param reports [Array<Hash>] by Ruby, oldest first
    def initialize(reports)
      @reports = reports
      @names = reports.flat_map { |report| report["gems"].keys }.uniq.sort
    end

    # @return [String] empty without reports
    def text
      @reports.empty? ? "" : "#{[head, table, reasons].join("\n\n")}\n"
    end

    private

    def rubies
      @reports.map { |report| "Ruby #{report["ruby"]} (#{report["date"]})" }.join(", ")
    end

    def head
      <<~TEXT.chomp
        # Gems of Rails applications

        Generated as the part above, from runs of `bin/test --gems` on #{rubies}. #{METHOD}
      TEXT
    end

    def table
      rows = [["gem", "version", *@reports.map { |report| report["ruby"][/\A\d+\.\d+/] }, "note"]]
      rows << Array.new(rows.first.size, "---")
      @names.each { |name| rows << row(name) }
      rows.map { |row| "| #{row.join(" | ")} |" }.join("\n")
    end

    def row(name)
      entries = @reports.map { |report| report["gems"][name] }
      [name, entries.compact.filter_map { |entry| entry["version"] }.uniq.join(", "),
       *entries.map { |entry| WORDS.fetch(entry&.fetch("verdict") || "skipped") },
       entries.compact.filter_map { |entry| entry["note"] }.uniq.join("; ")]
    end

    def reasons
      lines = @reports.flat_map do |report|
        report["gems"].filter_map do |name, entry|
          unless entry["verdict"] == "same"
            "- **#{name}** (#{report["ruby"][/\A\d+\.\d+/]}): #{entry["detail"].gsub(/\s+/, " ")}"
          end
        end
      end
      ["## What differs, and how", "", *(lines.empty? ? ["Nothing."] : lines)].join("\n")
    end
  end
end
