# frozen_string_literal: true

# What the native part was built without.

require "neverblock/check/finding"
require "neverblock/boot/native"

module NeverBlock
  module Check
    module Rules
      module Build
        # What is said of a feature that is missing.
        MISSING = {
          preadv2: [:note, "the native part was built without preadv2(2): whether a file's bytes are in memory cannot be told, so that all reads of files go to threads",
                    "a C library that has it (glibc 2.26, musl 1.2.5 or newer), and build again"],
          poller: [:warning, "the native part was built with neither epoll nor kqueue: with thousands of connections poll(2) costs much", "build it on Linux, macOS or a BSD"]
        }.freeze

        module_function

        # @return [Array<Finding>]
        def call(_subject, built = NeverBlock.built)
          absent = MISSING.reject { |feature, _| built.fetch(feature, true) }
          absent.map { |feature, (level, seen, mend)| Finding.of(level, "build-#{feature}", seen, mend) } + [protocols]
        end

        def protocols
          Finding.of(:note, "build-tls", "this version speaks HTTP/1.1 without TLS: neither https:// addresses nor HTTP/2",
                     "a proxy in front for both (nginx, Caddy, a platform's router)")
        end
        private_class_method :protocols
      end
    end
  end
end
