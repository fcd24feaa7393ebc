# frozen_string_literal: true

# What the verbs say of arguments that they do not take. It is looked at only once a call is wrong.

require "neverblock/config/suggestion"
require "neverblock/errors/backtrace"

module NeverBlock
  module Arguments
    module_function

    # @param verb [String] as "NB.run"
    # @param given [Array] the arguments, of which it takes none
    # @param block [Proc, nil]
    # @raise [ArgumentError]
    def refuse(verb, given = [], block = nil)
      raise ArgumentError, "#{verb} needs a block", Backtrace.of_caller if given.empty?

      got = given.first.inspect
      mend = ": write #{verb}(&it)" if given.first.respond_to?(:to_proc)
      raise ArgumentError, "#{verb} takes a block alone, and got #{got} too", Backtrace.of_caller if
        block

      raise ArgumentError, "#{verb} takes a block and no argument, got #{got}#{mend}",
            Backtrace.of_caller
    end

    # @param method [String] as "NB::FiberPool"
    # @param name [Symbol] of its keyword
    # @param given [Object]
    # @raise [ArgumentError] when it is neither nil nor something that can be called
    def callable(method, name, given)
      return if given.nil? || given.respond_to?(:call)

      raise ArgumentError, "#{method}: #{name} is something that can be called, or nil, " \
                           "not #{given.inspect}", Backtrace.of_caller
    end

    # @param method [String] as "NB::FiberPool.new"
    # @param unknown [Hash] the keywords that it does not take
    # @param known [Array<String>] those that it takes
    # @raise [ArgumentError]
    def refuse_keywords(method, unknown, known)
      name = unknown.keys.first.to_s
      raise ArgumentError, "#{method} has no keyword #{name}: it takes " \
                           "#{known.map { |one| "#{one}:" }.join(", ")}" \
                           "#{Suggestion.for(name, known)}", Backtrace.of_caller
    end
  end
end
