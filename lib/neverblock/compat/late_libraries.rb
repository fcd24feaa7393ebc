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
      @loading = Hash.new(0) # how many load or wait for a file, by its name
      @brought = false

      class << self
        # A file begins to be loaded. Files that were begun before the first loop do not count: the
        # program itself may be one (`bundle exec`).
        # @param name [String] of the file
        # @return [Boolean] whether it counts, and #ended has to be called
        def begun(name)
          return false unless Ractor.current.equal?(Ractor.main) && Libraries.applied?

          @loading[name] += 1
          true
        end

        # A file that counts has been loaded, or has failed. Who still waits for it is let in by
        # Ruby, and does not count any more.
        # @param name [String] of the file
        # @param brought [Boolean, nil] whether this call has loaded it
        # @return [void]
        def ended(name, brought)
          left = brought ? 0 : @loading[name] - 1
          left.positive? ? @loading[name] = left : @loading.delete(name)
          @brought ||= brought
          return unless @brought && @loading.empty?

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
    counted = NeverBlock::Compat::LateLibraries.begun(name)
    brought = neverblock_counted_require(name)
  rescue ScriptError, StandardError => e
    NeverBlock::Compat.clean_backtrace(e, __FILE__)
    raise
  ensure
    NeverBlock::Compat::LateLibraries.ended(name, brought) if counted
  end
  private :require

  class << self
    define_method(:neverblock_counted_public_require, Kernel.method(:require).unbind)
    private :neverblock_counted_public_require

    def require(name)
      counted = NeverBlock::Compat::LateLibraries.begun(name)
      brought = neverblock_counted_public_require(name)
    rescue ScriptError, StandardError => e
      NeverBlock::Compat.clean_backtrace(e, __FILE__)
      raise
    ensure
      NeverBlock::Compat::LateLibraries.ended(name, brought) if counted
    end
  end
end
