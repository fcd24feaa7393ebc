# frozen_string_literal: true

# Ruby 3.1: a `require` that parks its fiber loses it or crashes when another fiber requires the same file, and autoload from several fibers raises
# NameError. Bug #18663, fxn/zeitwerk#214. While a file is loading, what waits in it blocks the thread.
#
# The methods are replaced and not prepended: Zeitwerk, Bootsnap and RubyGems replace them by aliases, and an alias of a prepended method calls itself for ever.
#
# Autoload calls `require` of the main object (variable.c, autoload_require), and to Ruby the thread is loading from there on. So that object has a method of its own: what others
# have put around Kernel#require since, which looks at files or takes locks (Zeitwerk's), must not park either.

module NeverBlock
  module Compat
    module Require
      # Calls the block, which loads a file, with the hooks off where there are hooks.
      def self.load(&block)
        Compat.scheduler ? Compat.blocking(&block) : block.call
      end

      # What require_relative is relative to: the file that calls it.
      # @raise [LoadError] as Ruby says it when there is none
      def self.absolute(name, location)
        base = location.absolute_path
        base ||= location.path unless location.path.start_with?("(eval")
        raise LoadError, "cannot infer basepath" unless base

        File.expand_path(name, File.dirname(base))
      end
    end
  end
end

module Kernel
  neverblock_require = instance_method(:require)
  neverblock_load = instance_method(:load)
  public_require = Kernel.method(:require)
  public_load = Kernel.method(:load)

  # An alias of itself: what is redefined then is no warning.
  %i[require load require_relative].each { |name| alias_method name, name }
  %i[require load].each { |name| singleton_class.alias_method name, name }

  define_method(:require) { |name| NeverBlock::Compat::Require.load { neverblock_require.bind_call(self, name) } }
  define_method(:load) { |name, wrap = false| NeverBlock::Compat::Require.load { neverblock_load.bind_call(self, name, wrap) } }
  # Not by way of `require`, of which the caller may have one of its own (Sequel has).
  define_method(:require_relative) do |name|
    path = NeverBlock::Compat::Require.absolute(name.respond_to?(:to_path) ? name.to_path : name, caller_locations(1, 1).first)
    NeverBlock::Compat::Require.load { neverblock_require.bind_call(self, path) }
  end
  private :require, :load, :require_relative

  define_singleton_method(:require) { |name| NeverBlock::Compat::Require.load { public_require.call(name) } }
  define_singleton_method(:load) { |name, wrap = false| NeverBlock::Compat::Require.load { public_load.call(name, wrap) } }
end

class << TOPLEVEL_BINDING.receiver
  # With `def`: where a method of a block returns, a slice could end (vm_eval.c, vm_call0_body), and Ruby is not done with the constant yet.
  def require(name) = NeverBlock::Compat::Require.load { super }
  private :require
end
