# frozen_string_literal: true

# The gems of the bundle, compared with GemTable.

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
          running = !subject.app.nil?
          [*known(bundle, rows, running), *unread(bundle), *ignored(bundle),
           *fine(bundle, rows, running)]
        end

        def known(bundle, rows, running)
          rows.filter_map do |row|
            version = bundle.version(row.name)
            next unless version && row.for?(version)

            finding(row, version, running && !bundle.loaded?(row.name))
          end
        end

        # A gem that is in the bundle and never loaded has no effect.
        def finding(row, version, idle)
          seen = "#{row.name} #{version} #{row.seen}"
          seen = "#{seen} (it is in the bundle; this application has not loaded it)" if idle
          Finding.of(idle ? :note : row.level, "gem-#{row.name}", seen, row.mend, guide: row.guide)
        end

        def unread(bundle)
          return [] unless bundle.problem

          [Finding.of(:warning, "lock-file", "#{bundle.lock} cannot be read: #{bundle.problem}",
                      bundle.mend)]
        end

        def ignored(bundle)
          return [] unless bundle.ignored?

          [Finding.of(:note, "bundler",
                      "there is a #{bundle.gemfile_name}, but gems are loaded without it: the " \
                      "checked versions may be others",
                      "bundle exec neverblock check")]
        end

        def fine(bundle, rows, running)
          names = GemTable::FINE.select { |name| fine?(name, bundle, rows, running) }
          return [] if names.empty?

          list = names.map { |name| "#{name} #{bundle.version(name)}" }.join(", ")
          [Finding.of(:note, "gems-known",
                      "known to let other requests run, by themselves or by NeverBlock's " \
                      "patches: #{list}",
                      nil, guide: "docs/COMPATIBILITY.md")]
        end

        def fine?(name, bundle, rows, running)
          version = bundle.version(name)
          return false unless version && (!running || bundle.loaded?(name))

          rows.none? { |row| row.name == name && row.for?(version) }
        end
        private_class_method :known, :finding, :unread, :ignored, :fine, :fine?
      end
    end
  end
end
