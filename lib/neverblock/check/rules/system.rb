# frozen_string_literal: true

# What this machine allows a process: memory maps, descriptors, memory, folders for files, and
# system calls that the rules of a container refuse.

require "neverblock/boot/limits"
require "neverblock/boot/spool"
require "neverblock/check/finding"

module NeverBlock
  module Check
    module Rules
      module System
        module_function

        # @return [Array<Finding>]
        def call(subject, limits: Boot::Limits.new(subject.config), status: "/proc/self/status")
          [maps(limits), *descriptors(limits), *memory(limits, subject.workers),
           *spool(subject.config), *refused(status)].compact
        end

        def maps(limits)
          limits.check_fibers
          nil
        rescue StartError => e
          Finding.of(:serious, "max-map-count", "the server does not start: #{e.message}",
                     "fewer fibers, or the sysctl of the message")
        end

        # Also raises the soft limit of this process, as the server does.
        def descriptors(limits)
          limits.raise_descriptors.map { |line| split(:warning, "descriptors", line) }
        end

        def memory(limits, workers)
          limits.tight_memory(workers).map { |line| split(:serious, "memory", line) }
        end

        def spool(config)
          Boot::Spool.check(config.spool_directory).map { |line| split(:warning, "spool", line) }
        rescue StartError => e
          [Finding.of(:serious, "spool", "the server does not start: #{e.message}",
                      "create the folder, or name another")]
        end

        # In log lines, the fix follows the last colon.
        def split(level, rule, line)
          seen, _, mend = line.rpartition(/: (?=use|raise|name)/)
          seen.empty? ? Finding.of(level, rule, line) : Finding.of(level, rule, seen, mend)
        end

        # Value 2: the kernel filters each system call (proc(5)).
        def refused(status)
          return [] unless File.read(status)[/^Seccomp:\s*(\d+)/, 1] == "2"

          require "neverblock/boot/native"
          missing = NeverBlock.calls_refused
          return [NONE_REFUSED] if missing.empty?

          [Finding.of(:warning, "seccomp",
                      "the seccomp rules of this container refuse #{missing.join(", ")}: slower " \
                      "calls are used instead",
                      "newer rules of the container engine (docker: 20.10 or newer; a profile of " \
                      "your own: allow them)", guide: "docs/guides/containers.md")]
        rescue SystemCallError
          []
        end
        NONE_REFUSED = Finding.of(:note, "seccomp",
                                  "a filter of system calls is on (a container's seccomp rules); " \
                                  "it refuses none of those that NeverBlock uses")
        private_constant :NONE_REFUSED
        private_class_method :maps, :descriptors, :memory, :spool, :split, :refused
      end
    end
  end
end
