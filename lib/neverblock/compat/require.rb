# frozen_string_literal: true

# Ruby 3.1: a `require` that parks its fiber is lost or crashes when another fiber requires the same
# file. Autoload from several fibers raises NameError. Bug #18663, fxn/zeitwerk#214. Here the waits
# of a file that is being loaded block the thread (Scheduler#pin). Only for a lock, a queue or a
# thread the fiber parks: another fiber of the thread may have to run before such a wait can end.
# What is autoloaded then is a NameError in the others.
#
# The methods are replaced, not prepended. Zeitwerk, Bootsnap and RubyGems replace them through
# aliases, and an alias of a prepended method calls itself forever.
#
# Autoload calls `require` of the main object (variable.c, autoload_require), and Ruby counts the
# thread as loading from there on. So that object has a method of its own. What other gems have
# wrapped around Kernel#require looks at files or takes locks (Zeitwerk's), and must not park
# either.
#
# The methods are made by `def`: a Ractor cannot call one that is made of a block.

require "neverblock/compat/clean_backtrace"

module NeverBlock
  module Compat
    module Require
      # Calls the block, which loads a file, in the same fiber: with its locks and fiber-locals.
      def self.load(&block)
        scheduler = Compat.scheduler or return block.call
        scheduler.pin { scheduler.masked(true, &block) }
      rescue ScriptError, StandardError => e
        Compat.clean_backtrace(e, __FILE__)
        raise
      end

      # The absolute path for require_relative, whose argument is relative to the calling file.
      # @param name [String]
      # @param location [Thread::Backtrace::Location] of the call
      # @return [String]
      # @raise [LoadError] with Ruby's own message, when there is no such file
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
  # An alias of the method itself prevents the warning that it is redefined.
  %i[require load require_relative].each { |name| alias_method name, name }
  %i[require load].each { |name| singleton_class.alias_method name, name }

  define_method(:neverblock_require, instance_method(:require))
  define_method(:neverblock_load, instance_method(:load))
  private :neverblock_require, :neverblock_load

  def require(name)
    NeverBlock::Compat::Require.load { neverblock_require(name) }
  end

  def load(name, wrap = false)
    NeverBlock::Compat::Require.load { neverblock_load(name, wrap) }
  end

  # It does not call `require`, of which the caller may have one of its own (Sequel has).
  def require_relative(name)
    name = name.to_path if name.respond_to?(:to_path)
    path = NeverBlock::Compat::Require.absolute(name, caller_locations(1, 1).first)
    NeverBlock::Compat::Require.load { neverblock_require(path) }
  end
  private :require, :load, :require_relative

  class << self
    define_method(:neverblock_public_require, Kernel.method(:require).unbind)
    define_method(:neverblock_public_load, Kernel.method(:load).unbind)
    private :neverblock_public_require, :neverblock_public_load

    def require(name)
      NeverBlock::Compat::Require.load { neverblock_public_require(name) }
    end

    def load(name, wrap = false)
      NeverBlock::Compat::Require.load { neverblock_public_load(name, wrap) }
    end
  end
end

class << TOPLEVEL_BINDING.receiver
  # Made by `def`: a time slice could end at the return of a method that is made of a block
  # (vm_eval.c, vm_call0_body), and Ruby has not finished the constant then.
  def require(name) = NeverBlock::Compat::Require.load { super }
  private :require
end
