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
                   "build it on Linux, macOS or a BSD"],
          tls: [:note,
                "the native part was built without OpenSSL: https:// addresses are refused",
                "install OpenSSL's development files (libssl-dev), and install the gem again; or " \
                "put a proxy in front"],
          gzip: [:note,
                 "the native part was built without zlib: no response is compressed as gzip, " \
                 "which all clients know",
                 "install zlib's development files (zlib1g-dev), and install the gem again"],
          http2: [:note,
                  "the native part was built without nghttp2: HTTP/1.1 is spoken, and not HTTP/2",
                  "install nghttp2's development files (libnghttp2-dev), and install the gem again"]
        }.freeze

        module_function

        # @return [Array<Finding>]
        def call(subject, built = NeverBlock.built, kernel: method(:kernel_tls?))
          absent = MISSING.reject { |feature, _| built.fetch(feature, true) }
          found = absent.map do |feature, (level, seen, mend)|
            level = :serious if needed?(feature, subject)
            Finding.of(level, "build-#{feature}", seen, mend)
          end
          found << no_kernel_tls if built.fetch(:tls, true) && ktls?(subject) && !kernel.call
          found
        end

        def ktls?(subject)
          https?(subject) && subject.config.secure.ktls && RUBY_PLATFORM.include?("linux")
        end

        def kernel_tls?
          NeverBlock::TLSContext.kernel?
        end

        def no_kernel_tls
          Finding.of(:note, "kernel-tls",
                     "the kernel makes no TLS records (kTLS): the server encrypts what it sends, " \
                     "and copies files for that",
                     "`modprobe tls` as root, with OpenSSL 3; or nothing: it matters for large " \
                     "files alone")
        end

        # Without it the server does not start, or does not do what the configuration says.
        def needed?(feature, subject)
          config = subject&.config or return false
          case feature
          when :tls then config.binds.any?(&:https?)
          when :gzip then config.compresses?
          end
        end

        def https?(subject)
          subject&.config&.binds&.any?(&:https?)
        end
        private_class_method :needed?, :https?, :ktls?, :kernel_tls?, :no_kernel_tls
      end
    end
  end
end
