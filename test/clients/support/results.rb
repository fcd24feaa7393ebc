# frozen_string_literal: true

require "fileutils"
require "json"
require "neverblock/version"

module Clients
  # What one run on one Ruby found, as the JSON that docs/COMPATIBILITY.md is made of.
  class Results
    def initialize
      @libraries = {}
    end

    # @param result [Hash] of one check: "verdict" (yields, blocks, failed or skipped) and "detail"
    def record(library, version, check, result)
      entry = @libraries[library.name] ||= { "version" => version, "notes" => library.notes,
                                             "checks" => {} }
      entry["version"] ||= version
      entry["checks"][check.name.to_s] = { "sentence" => check.sentence,
                                           "verdict" => result["verdict"],
                                           "detail" => result["detail"],
                                           "expected" => library.expected[check.name] }.compact
    end

    # Writes nothing when not every check was run.
    def write(folder, libraries = Clients.libraries)
      return unless libraries.values.all? { |library| run?(library) }

      FileUtils.mkdir_p(folder)
      report = { "ruby" => RUBY_VERSION, "platform" => RUBY_PLATFORM,
                 "neverblock" => NeverBlock::VERSION, "date" => Time.now.utc.strftime("%Y-%m-%d"),
                 "libraries" => libraries.transform_values { |library| in_order(library) } }
      File.write(File.join(folder, "#{RUBY_VERSION[/\A\d+\.\d+/]}.json"),
                 "#{JSON.pretty_generate(report)}\n")
    end

    private

    def run?(library)
      library.checks.keys.map(&:to_s).sort == @libraries.dig(library.name, "checks")&.keys&.sort
    end

    def in_order(library)
      entry = @libraries.fetch(library.name)
      names = library.checks.keys.map(&:to_s)
      entry.merge("checks" => names.to_h { |name| [name, entry["checks"].fetch(name)] })
    end
  end
end
