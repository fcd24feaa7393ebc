# frozen_string_literal: true

# Libraries that keep something by Thread.current have one entry for all requests of a thread. In
# such a library a stand-in takes the place of the constant Thread. Its `current` is the request:
# the scheduled fiber of our loop, with those that it resumes (Scheduler.root). All else is of
# Thread, and outside of our loop so is `current`.

module NeverBlock
  module Compat
    # A request, for a library that asks for its thread. What is not here is its thread's.
    class Owner
      # Stands for Thread in one library.
      class Threads < ::Thread
        # @return [Owner, ::Thread]
        def self.current
          Compat.scheduler ? Owner.new : ::Thread.current
        end
      end

      # @param library [Module] whose code says Thread
      # @param threads [Class] the stand-in
      # @return [void]
      def self.stand_in(library, threads = Threads)
        library.const_set(:Thread, threads) unless library.const_defined?(:Thread, false)
      end

      def initialize
        @thread = ::Thread.current
        @root = Scheduler.root
      end

      # Two of one request are one owner, also as keys of a Hash.
      def ==(other)
        other.is_a?(Owner) && root.equal?(other.root)
      end
      alias eql? ==

      # @return [Integer]
      def hash
        @root.hash
      end

      # @return [String, false] as Thread#status
      def status
        @root.alive? && "sleep"
      end

      # @return [Array<String>, nil]
      def backtrace
        @root.backtrace
      end

      # @return [String]
      def inspect
        @thread.inspect
      end

      # @return [Boolean]
      def respond_to_missing?(name, include_all = false)
        @thread.respond_to?(name, include_all) || super
      end

      protected

      attr_reader :root

      private

      def method_missing(name, ...)
        @thread.respond_to?(name) ? @thread.public_send(name, ...) : super
      end
    end
  end
end
