# frozen_string_literal: true

require "json"

module Applications
  # The last part of docs/COMPATIBILITY.md, from one report of each application (results.rb).
  class Document
    RESULTS = File.expand_path("../results", __dir__)

    # The document's lines are longer than those of this file.
    METHOD =
      "Public applications, moved from Puma by [moving.md](guides/moving.md) alone. The same " \
      "visits on Puma and on\n" \
      "NeverBlock with the same first data: status, body, header fields and cookies of every " \
      "answer, what came over WebSockets, and the rows and files that are left, are compared."
    DIFFERENCES =
      "What may differ, because two runs of Puma differ in it too: tokens, times, numbers of " \
      "rows where several users come at once\n" \
      "(`test/slow/applications/support/alike.rb`). What differs by intent: a file that the " \
      "application sends as a whole has an `ETag`, and is sent in parts to who asks for a " \
      "`Range` ([files.md](guides/files.md));\n" \
      "every answer has a `Date`."
    private_constant :METHOD, :DIFFERENCES

    # @return [Document] of what runs have found
    def self.read
      new(Dir[File.join(RESULTS, "*.json")].sort.map { |file| JSON.parse(File.read(file)) })
    end

    # @param reports [Array<Hash>] by application
    def initialize(reports)
      @reports = reports
    end

    # @return [String] empty without reports
    def text
      @reports.empty? ? "" : "#{[head, table, DIFFERENCES].join("\n\n")}\n"
    end

    private

    def head
      <<~TEXT.chomp
        # Applications

        Generated as the parts above, from runs of `bin/test test/slow/applications`. #{METHOD}
      TEXT
    end

    def table
      rows = [%w[application version Ruby runs\ with visit alike],
              Array.new(6, "---"), *@reports.map { |report| row(report) }]
      rows.map { |row| "| #{row.join(" | ")} |" }.join("\n")
    end

    def row(report)
      tests = report["tests"].map { |name, counts| "#{name}: #{words(counts)}" }
      [report["name"], report["version"], "#{report["ruby"]} (#{report["date"]})", report["runs"],
       report["visit"], tests.join("; ")]
    end

    def words(counts)
      "#{counts["answers"]} answers to #{counts["visitors"]} users, each #{counts["pages"]} " \
        "different pages and actions"
    end
  end
end
