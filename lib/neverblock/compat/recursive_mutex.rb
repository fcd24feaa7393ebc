# frozen_string_literal: true

# RecursiveMutex of the gem thread counts how often its owner has locked it, by Thread.current: the
# second request of a thread takes it for its own, and the count lets no other have it afterwards.
# Here each request is an owner (compat/owner.rb). thread 0.2.2: lib/thread/recursive_mutex.rb.

require "neverblock/compat/owner"

module NeverBlock
  module Compat
    module RecursiveMutex
      FILE = "/thread/recursive_mutex.rb"
      private_constant :FILE

      # Installs it once, when the gem is loaded. Others have classes of this name.
      # @return [void]
      def self.apply
        return unless defined?(::RecursiveMutex) && ::RecursiveMutex.method_defined?(:lock)

        file = ::RecursiveMutex.instance_method(:lock).source_location&.first
        Owner.stand_in(::RecursiveMutex) if file&.end_with?(FILE)
      end
    end
  end
end
