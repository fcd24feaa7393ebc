# frozen_string_literal: true

# Settings that have a price.

require "neverblock/boot/hooks"
require "neverblock/boot/processors"
require "neverblock/check/finding"

module NeverBlock
  module Check
    module Rules
      module Settings
        module_function

        # @return [Array<Finding>]
        def call(subject, processors: Boot::Processors.count)
          [replaced(subject.settings), cooperative(subject.settings), *uncalled(subject),
           single(subject, processors), many(subject, processors)].compact
        end

        def replaced(settings)
          seen = settings.replaced_binds or return
          Finding.of(:note, "bind", seen.sub(/ \(.*\)\z/, ""), seen[/\((.*)\)\z/, 1])
        end

        def uncalled(subject)
          return [] unless subject.workers == 1

          Boot::Hooks.uncalled(subject.settings).map do |seen|
            Finding.of(:note, "workers", seen, guide: "docs/guides/workers.md")
          end
        end

        def cooperative(settings)
          return unless settings[:cooperative]

          Finding.of(:note, "cooperative",
                     "`cooperative` is on: fibers switch only where they wait, so that a request " \
                     "that computes for a second blocks all others of its process for that time",
                     "keep it for code that may not be thread-safe; else remove it")
        end

        def single(subject, processors)
          return unless subject.workers == 1 && processors > 1

          Finding.of(:note, "workers",
                     "one process runs the application, although it may use #{processors} CPUs",
                     "-w auto, or WEB_CONCURRENCY=auto", guide: "docs/guides/workers.md")
        end

        def many(subject, processors)
          return unless subject.workers > processors * 2

          Finding.of(:note, "workers",
                     "#{subject.workers} workers share #{processors} " \
                     "CPU#{"s" unless processors == 1}: one worker is enough for a CPU, because " \
                     "each runs #{subject.fibers} requests at once",
                     "-w auto", guide: "docs/guides/workers.md")
        end
        private_class_method :replaced, :uncalled, :cooperative, :single, :many
      end
    end
  end
end
