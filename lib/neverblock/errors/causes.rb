# frozen_string_literal: true

# An exception and what caused it, which caused that, and so on, bounded: a library may make an error of its own of one of ours, and nobody keeps an application
# from causes in a ring.

module NeverBlock
  module Causes
    # More say nothing new.
    MAX = 16

    module_function

    # @param error [Exception, nil]
    # @yieldparam error [Exception] one of them
    # @yieldreturn [Exception, nil] what is behind it; without a block, its cause
    # @return [Array<Exception>] the error first
    def of(error)
      found = []
      until error.nil? || found.size == MAX || found.any? { |other| other.equal?(error) }
        found << error
        error = block_given? ? yield(error) : error.cause
      end
      found
    end
  end
end
