# frozen_string_literal: true

require "json"

module HookTable
  # docs/HOOKS.md, made of the results of test/hooks/results and of nothing else.
  class Document
    FOLDER = File.expand_path("../results", __dir__)
    PATH = File.expand_path("../../../docs/HOOKS.md", __dir__)
    CELLS = { "yields" => "yields", "blocks" => "**blocks**", "absent" => "–" }.freeze
    NAMES_SHOWN = 4
    BUGS = "https://bugs.ruby-lang.org/issues"
    GITHUB = "https://github.com"

    # @return [Document] of the results that were published
    def self.published
      new(Dir[File.join(FOLDER, "*.json")].map { |file| JSON.parse(File.read(file)) })
    end

    # @param runs [Array<Hash>] what Results has written, a Ruby each
    def initialize(runs)
      @runs = runs.sort_by { |run| Gem::Version.new(run["ruby"]) }
      @rows = @runs.flat_map { |run| run["rows"].map { |row| key(row) } }.uniq
      @found = @runs.to_h { |run| [run["ruby"], run["rows"].to_h { |row| [key(row), row] }] }
      @reasons = []
    end

    # @return [Array<String>] what keeps it from being published
    def objections
      unfit = @runs.flat_map do |run|
        unplayed = run["rows"].reject { |row| CELLS.key?(row["verdict"]) }
        unplayed.map { |row| "#{title(row)} on #{run["ruby"]}: #{row["verdict"]}: #{row["note"]}" }
      end
      missing = @rows.product(rubies).reject { |row, ruby| @found[ruby].key?(row) }
      unfit + missing.map { |row, ruby| "#{row.compact.last(2).join(" ")} was not run on #{ruby}" }
    end

    def to_s
      sections = @rows.group_by(&:first).map { |library, rows| section(library, rows) }
      [head, counts, legend, *sections, reasons].join("\n")
    end

    private

    def key(row)
      row.values_at("library", "name", "variant")
    end

    def title(row)
      [row["name"], *(row["variant"] && "(#{row["variant"]})")].join(" ")
    end

    def rubies
      @runs.map { |run| run["ruby"] }
    end

    def head
      <<~MARKDOWN
        # The hook table: every way to wait in Ruby

        A fiber waits: do the others of its thread run meanwhile? One row for each way to wait \
        that Ruby's core and standard library have, answered by a run on each
        Ruby with NeverBlock's scheduler, not by reading. This file is generated (`bin/hooks`); \
        nobody writes in it. The rows are in `test/hooks/rows`.

        In each row a fiber makes the call, and a second fiber of the same thread has to go \
        through several turns of the loop, timers and I/O included, and to
        see that the first is still inside; only then does it let the event happen that ends the \
        wait. The result must be right, and the loop must go on. A row
        that did not wait fails, and so does one that is said to block and does not: the table \
        is true on the Rubies below, or `bin/test --hooks` is red.
        Each row has a process of its own. No clock decides, except that of the watchdog: it \
        ends the wait of a thread that is blocked. Every public method of the
        core classes that deal with the world or with other threads has a row, or is named among \
        those that do not wait (`test/hooks/support/no_waits.rb`).
      MARKDOWN
    end

    def counts
      lines = [["", *@runs.map { |run| "Ruby #{run["ruby"]}" }], ["---", *@runs.map { "---:" }]]
      {
        "yields" => "lets the others run",
        "blocks" => "blocks the thread: Ruby's own reason, and nothing breaks",
        "absent" => "not in this Ruby"
      }.each do |verdict, name|
        numbers = @runs.map { |run| run["rows"].count { |row| row["verdict"] == verdict } }
        lines << [name, *numbers.map(&:to_s)]
      end
      lines << ["rows", *@runs.map { |run| run["rows"].size.to_s }]
      run_on = @runs.map do |run|
        "#{run["date"]}, #{run["platform"]}, kernel #{run["kernel"][/\A[\d.]+/]}"
      end
      lines << ["run on", *run_on]
      table(lines)
    end

    def legend
      <<~MARKDOWN
        **yields**: the other fibers run. **yields ᶜ**: they do because `lib/neverblock/compat/` \
        works around a fault of that Ruby. **blocks**: the thread waits, and all
        its fibers with it, until the call returns; other threads run, or, **blocks ᴳ**, they do \
        not either, as Ruby's lock is held. **–**: that Ruby does not have it.
        What blocks goes into `NB.offload { }` where it matters. "A slow disk" is a file system \
        that takes 200 ms over the
        request in question, as a network file system may; a file in the page cache takes \
        microseconds.
      MARKDOWN
    end

    def section(library, rows)
      lines = [
        ["call", *@runs.map { |run| run["ruby"][/\A\d+\.\d+/] }, "note"],
        ["---", *@runs.map { "---" }, "---"]
      ]
      lines += rows.map do |row|
        [call(row), *rubies.map { |ruby| cell(@found[ruby][row]) }, note(row)]
      end
      "## #{library}\n\n#{table(lines)}"
    end

    def call(key)
      row = @found.values.filter_map { |rows| rows[key] }.first
      also = Array(row["also"])
      others = also.size > NAMES_SHOWN ? ["#{also.size} more"] : also.map { |name| code(name) }
      variant = row["variant"] ? ": #{escape(row["variant"])}" : ""
      [code(row["name"]), *others].join(", ") + variant
    end

    def code(name)
      name.include?("`") ? "`` #{name} ``" : "`#{name}`"
    end

    def escape(text)
      text.gsub(/[|<>*_]/) { |character| "\\#{character}" }
    end

    def cell(row)
      return "" unless row

      mark = { "yields" => row["note"] && " ᶜ", "blocks" => row["locked"] && " ᴳ" }[row["verdict"]]
      "#{CELLS.fetch(row["verdict"], "**#{row["verdict"]}**")}#{mark}"
    end

    def note(key)
      found = rubies.filter_map { |ruby| @found[ruby][key] }
      notes = found.select { |row| row["verdict"] == "yields" && row["note"] }
                   .map { |row| "ᶜ `#{row["note"]}.rb`" }
      notes += found.select { |row| row["verdict"] == "blocks" }
                    .map { |row| "[why #{number(row["note"])}](#why-it-blocks)" }
      notes += found.select { |row| row["verdict"] == "absent" }.map { |row| escape(row["note"]) }
      notes.uniq.join("; ")
    end

    def number(reason)
      @reasons << reason unless @reasons.include?(reason)
      @reasons.index(reason) + 1
    end

    def reasons
      entries = @reasons.each_with_index.map do |reason, index|
        "#{index + 1}. #{link(escape(reason))}\n"
      end
      "## Why it blocks\n\n#{entries.join}"
    end

    def link(text)
      text.gsub(/(?:Bug|Feature|Misc) #(\d+)/) { |name| "[#{name}](#{BUGS}/#{$1})" }
          .gsub(%r{\b([\w.-]+/[\w.-]+)#(\d+)}) { |name| "[#{name}](#{GITHUB}/#{$1}/issues/#{$2})" }
    end

    def table(lines)
      "#{lines.map { |cells| "| #{cells.join(" | ")} |" }.join("\n")}\n"
    end
  end
end
