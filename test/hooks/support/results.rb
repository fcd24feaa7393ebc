# frozen_string_literal: true

require "etc"
require "fileutils"
require "json"
require "neverblock/version"

module HookTable
  # What one run found, as the JSON that docs/HOOKS.md is made from (test/hooks/results/<Ruby>.json,
  # copied there by bin/hooks).
  class Results
    def initialize
      @verdicts = {}
    end

    # @param verdict [String] "yields", "blocks", "absent", "unavailable" or "failed"
    # @param note [String, nil] the reason, or the file of compat/ it yields by
    # @param locked [Boolean] it blocks with Ruby's lock held
    def record(row, verdict, note = nil, locked: false)
      @verdicts[row.key] = {
        "verdict" => verdict, "note" => note, "locked" => locked || nil
      }.compact
    end

    # Writes nothing when not every row was run, as with `bin/test --hooks flock` or Minitest's
    # --name.
    # @return [String, nil] the file
    def write(folder, rows = HookTable.rows)
      return unless rows.all? { |row| @verdicts.key?(row.key) }

      FileUtils.mkdir_p(folder)
      path = File.join(folder, "#{RUBY_VERSION[/\A\d+\.\d+/]}.json")
      File.write(path, "#{JSON.pretty_generate(report(rows))}\n")
      path
    end

    private

    def named(row)
      {
        "library" => row.library, "name" => row.name, "also" => row.also.any? ? row.also : nil,
        "variant" => row.variant
      }.compact
    end

    def report(rows)
      {
        "ruby" => RUBY_VERSION, "patchlevel" => RUBY_PATCHLEVEL, "platform" => RUBY_PLATFORM,
        "kernel" => Etc.uname[:release], "neverblock" => NeverBlock::VERSION,
        "date" => Time.now.utc.strftime("%Y-%m-%d"),
        "rows" => rows.map { |row| named(row).merge(@verdicts.fetch(row.key)) }
      }
    end
  end
end
