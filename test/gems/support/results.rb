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
      @gems[use.name] = { "version" => Surroundings.versions[use.name], "verdict" => verdict,
                          "detail" => detail, "note" => use.word }.compact
    end

    # Gems that did not run now keep the result of the last run of this Ruby and version. Nothing is
    # written when a gem has no result at all.
    def write(folder, uses = Gems.uses)
      file = File.join(folder, "#{RUBY_VERSION[/\A\d+\.\d+/]}.json")
      gems = last(file).slice(*uses.keys).merge(@gems)
      return unless (uses.keys - gems.keys).empty?

      FileUtils.mkdir_p(folder)
      File.write(file, "#{JSON.pretty_generate(head.merge("gems" => gems.sort.to_h))}\n")
    end

    private

    def head
      { "ruby" => RUBY_VERSION, "neverblock" => NeverBlock::VERSION,
        "date" => Time.now.utc.strftime("%Y-%m-%d") }
    end

    def last(file)
      report = File.exist?(file) ? JSON.parse(File.read(file)) : {}
      if report.values_at("ruby", "neverblock") == head.values_at("ruby", "neverblock")
        report.fetch("gems")
      else
        {}
      end
    end
  end
end
