# frozen_string_literal: true

# Features that the native part was built without.

require "neverblock/check/finding"
require "neverblock/boot/native"

module NeverBlock
  module Check
    module Rules
      module Build
        # Findings for missing features.
        MISSING = {
          preadv2: [:note,
                    "the native part was built without preadv2(2): it cannot tell whether a file " \
                    "is in memory, so that threads do all reads of files",
                    "build it again with a C library that has it (glibc 2.26, musl 1.2.5 or " \
                    "newer)"],
          poller: [:warning,
                   "the native part was built with neither epoll nor kqueue: with thousands of " \
                   "connections poll(2) is slow",
                   "build it on Linux, macOS or a BSD"]
        }.freeze

        module_function

        # @return [Array<Finding>]
        def call(_subject, built = NeverBlock.built)
          absent = MISSING.reject { |feature, _| built.fetch(feature, true) }
          found = absent.map do |feature, (level, seen, mend)|
            Finding.of(level, "build-#{feature}", seen, mend)
          end
          [*found, protocols]
        end

        def protocols
          Finding.of(:note, "build-tls",
                     "this version supports HTTP/1.1 without TLS: neither https:// addresses nor " \
                     "HTTP/2",
                     "a proxy in front for both (nginx, Caddy, a platform's router)")
        end
        private_class_method :protocols
      end
    end
  end
end
