# frozen_string_literal: true

# Compression of whole strings. zlib works without Ruby's lock (ext/zlib/zlib.c, zstream_run_func),
# about 10 ms for a megabyte. From Ruby 3.4 on it uses blocking_operation_wait. rubyzip and others
# compress in short calls, which stay on this thread.

require "neverblock/blockers/gem"

module NeverBlock
  module Blockers
    module Zlib
      NAMES = %i[deflate inflate gzip gunzip].freeze

      # Installs it once, when zlib is loaded.
      # @return [void]
      def self.apply
        return if @applied || !defined?(::Zlib::Deflate) || RUBY_VERSION >= "3.4"

        @applied = true
        ::Zlib.singleton_class.prepend(Blockers.around(NAMES))
        ::Zlib::Deflate.singleton_class.prepend(Blockers.around(%i[deflate]))
        ::Zlib::Inflate.singleton_class.prepend(Blockers.around(%i[inflate]))
      end
    end
  end
end
