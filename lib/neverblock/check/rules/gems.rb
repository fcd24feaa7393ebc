# frozen_string_literal: true

# The gems of the bundle, against what is known of them.

require "neverblock/check/finding"
require "neverblock/check/gem_table"

module NeverBlock
  module Check
    module Rules
      module Gems
        module_function

        # @return [Array<Finding>]
        def call(subject, rows: GemTable::ROWS)
          bundle = subject.bundle
          [*known(bundle, rows, !subject.app.nil?), *unread(bundle), *ignored(bundle), *fine(bundle, rows, !subject.app.nil?)]
        end

        def known(bundle, rows, running)
          rows.filter_map do |row|
            version = bundle.version(row.name)
            finding(row, version, running && !bundle.loaded?(row.name)) if version && row.for?(version)
          end
        end

        # What a bundle has and an application never requires does nothing.
        def finding(row, version, idle)
          seen = "#{row.name} #{version} #{row.seen}#{" (it is in the bundle; this application has not loaded it)" if idle}"
          Finding.of(idle ? :note : row.level, "gem-#{row.name}", seen, row.mend, guide: row.guide)
        end

        def unread(bundle)
          return [] unless bundle.problem

          [Finding.of(:warning, "lock-file", "#{bundle.lock} cannot be read: #{bundle.problem}", "bundle lock")]
        end

        def ignored(bundle)
          return [] unless bundle.ignored?

          [Finding.of(:note, "bundler", "there is a #{bundle.gemfile_name}, and gems are loaded without it: other versions than it names may be what was looked at",
                      "bundle exec neverblock check")]
        end

        def fine(bundle, rows, running)
          names = GemTable::FINE.select do |name|
            version = bundle.version(name)
            version && (!running || bundle.loaded?(name)) && rows.none? { |row| row.name == name && row.for?(version) }
          end
          return [] if names.empty?

          list = names.map { |name| "#{name} #{bundle.version(name)}" }.join(", ")
          [Finding.of(:note, "gems-known", "known to let other requests run, by themselves or by what NeverBlock adds: #{list}", nil, guide: "docs/COMPATIBILITY.md")]
        end
        private_class_method :known, :finding, :unread, :ignored, :fine
      end
    end
  end
end
