# frozen_string_literal: true

# One callable of an NB.all and its fiber.

require "neverblock/offload/outcome"

module NeverBlock
  module All
    class Branch
      # @return [Fiber, nil] nil: it could not be made
      attr_reader :fiber

      def initialize(group, callable)
        @group = group
        @callable = callable
        @deadline = Deadline.current
      end

      # Runs until it first waits; its error goes to the group.
      def start
        Fiber.schedule do
          @fiber = Fiber.current
          Deadline.inherit(@deadline)
          @outcome = Offload::Outcome.of { @callable.call }
        ensure
          @outcome ||= Offload::Outcome.new(nil, Error.new("a branch of NB.all was killed (Fiber#kill)"))
          @group.ended(self)
        end
      end

      def error
        @outcome.error
      end

      def value
        @outcome.get(breaks: false)
      end

      def cancelled?
        @cancelled || false
      end

      # @return [Boolean] whether it will be raised in the fiber's wait
      def cancel(scheduler, reason)
        @cancelled = true
        scheduler.raise_in(@fiber, Cancelled.new(reason: reason)) || false
      end
    end
  end
end
