# frozen_string_literal: true

require "json"

module Gems
  # A part of docs/COMPATIBILITY.md, from one report of each Ruby (results.rb).
  class Document
    RESULTS = File.expand_path("../results", __dir__)
    WORDS = { "same" => "as on threads", "differs" => "differs", "skipped" => "-" }.freeze

    # @return [Document] of what runs have found
    def self.read
      new(Dir[File.join(RESULTS, "*.json")].map { |file| JSON.parse(File.read(file)) }.sort_by { |report| Gem::Version.new(report["ruby"]) })
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

    def head
      <<~TEXT.chomp
        # Gems of Rails applications

        Generated as the part above, from runs of `bin/test --gems` on #{@reports.map { |report| "Ruby #{report["ruby"]} (#{report["date"]})" }.join(", ")}. An ordinary use of each gem
        (`test/gems/uses`), 20 requests at once beside two that compute, time slices of 1 ms: every answer is compared with what Puma's threads give, and so is what is left of descriptors,
        connections, threads and fibers. **as on threads**: no answer was another. **differs**: below.
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
      [name, entries.compact.filter_map { |entry| entry["version"] }.uniq.join(", "), *entries.map { |entry| WORDS.fetch(entry&.fetch("verdict") || "skipped") },
       entries.compact.filter_map { |entry| entry["note"] }.uniq.join("; ")]
    end

    def reasons
      lines = @reports.flat_map do |report|
        report["gems"].filter_map { |name, entry| "- **#{name}** (#{report["ruby"][/\A\d+\.\d+/]}): #{entry["detail"].gsub(/\s+/, " ")}" unless entry["verdict"] == "same" }
      end
      ["## What differs, and how", "", *(lines.empty? ? ["Nothing."] : lines)].join("\n")
    end
  end
end
