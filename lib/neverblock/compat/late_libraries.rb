# frozen_string_literal: true

# A library that needs a patch may come after the loop has begun: `require "nokogiri"` in a method,
# an autoload, an adapter that Sequel loads when it connects. It gets its patch when the file that
# brought it has been loaded, in whatever fiber or thread. While another file is being loaded the
# patch waits for the last of them: what a file has begun to define would be found half made.
#
# Kernel#require is replaced, as compat/require.rb explains. No method with a block is called: the
# place that Ruby's warning of a bundled gem tells is the first below frames that are named
# `require` (bundled_gems.rb, uplevel). Kernel#load and require_relative are left as they are: a
# library is required, by them at last.

require "neverblock/compat/clean_backtrace"

module NeverBlock
  module Compat
    module LateLibraries
      @loading = 0
      @brought = false

      class << self
        # A file begins to be loaded. Files that were begun before the first loop do not count: the
        # program itself may be one (`bundle exec`).
        # @return [Boolean] whether it counts, and #ended has to be called
        def begun
          return false unless Ractor.current.equal?(Ractor.main) && Libraries.applied?

          @loading += 1
          true
        end

        # A file that counts has been loaded, or has failed.
        # @param brought [Boolean] whether it was new
        # @return [void]
        def ended(brought)
          @loading -= 1
          @brought ||= brought
          return unless @brought && @loading.zero?

          @brought = false
          Compat.unsliced { Libraries.apply }
        end
      end
    end
  end
end

module Kernel
  # An alias of the method itself prevents the warning that it is redefined.
  alias_method :require, :require
  singleton_class.alias_method :require, :require

  define_method(:neverblock_counted_require, instance_method(:require))
  private :neverblock_counted_require

  def require(name)
    counted = NeverBlock::Compat::LateLibraries.begun
    brought = neverblock_counted_require(name)
  rescue ScriptError, StandardError => e
    NeverBlock::Compat.clean_backtrace(e, __FILE__)
    raise
  ensure
    NeverBlock::Compat::LateLibraries.ended(brought) if counted
  end
  private :require

  class << self
    define_method(:neverblock_counted_public_require, Kernel.method(:require).unbind)
    private :neverblock_counted_public_require

    def require(name)
      counted = NeverBlock::Compat::LateLibraries.begun
      brought = neverblock_counted_public_require(name)
    rescue ScriptError, StandardError => e
      NeverBlock::Compat.clean_backtrace(e, __FILE__)
      raise
    ensure
      NeverBlock::Compat::LateLibraries.ended(brought) if counted
    end
  end
end
