# frozen_string_literal: true

require "fileutils"
require "json"
require "neverblock/version"

module Gems
  # What one run on one Ruby found.
  class Results
    def initialize
      @gems = {}
    end

    # @param verdict [String] "same", "differs" or "skipped"
    def record(use, verdict, detail)
      @gems[use.name] = { "version" => Surroundings.versions[use.name], "verdict" => verdict, "detail" => detail, "note" => use.word }.compact
    end

    # Writes nothing when not every gem was run.
    def write(folder, uses = Gems.uses)
      return unless (uses.keys - @gems.keys).empty?

      FileUtils.mkdir_p(folder)
      report = { "ruby" => RUBY_VERSION, "neverblock" => NeverBlock::VERSION, "date" => Time.now.utc.strftime("%Y-%m-%d"), "gems" => @gems.sort.to_h }
      File.write(File.join(folder, "#{RUBY_VERSION[/\A\d+\.\d+/]}.json"), "#{JSON.pretty_generate(report)}\n")
    end
  end
end
