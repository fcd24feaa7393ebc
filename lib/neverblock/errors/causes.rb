# frozen_string_literal: true

# The chain of an exception's causes, bounded. A library may wrap one of our errors in its own, and
# an application may make a cycle of causes.

module NeverBlock
  module Causes
    # Longest chain that is followed.
    MAX = 16

    module_function

    # @param error [Exception, nil]
    # @yieldparam error [Exception] one of the chain
    # @yieldreturn [Exception, nil] the next one; without a block: its cause
    # @return [Array<Exception>] the chain, the error itself first
    def of(error)
      found = []
      until error.nil? || found.size == MAX || found.any? { |other| other.equal?(error) }
        found << error
        error = block_given? ? yield(error) : cause_of(error)
      end
      found
    end

    # @param error [Exception]
    # @return [Exception, nil] nil also where its own #cause raises
    def cause_of(error)
      error.cause
    rescue StandardError
      nil
    end
  end
end
