# frozen_string_literal: true

# One callable of an NB.all and the fiber that runs it.

require "neverblock/verbs/carry"
require "neverblock/verbs/outcome"

module NeverBlock
  module All
    class Task
      def initialize(group, callable)
        @group = group
        @callable = Carry.around(callable)
        @deadline = Deadline.current
      end

      # Runs the callable until its first wait. Its error goes to the group.
      def start
        Carry.schedule_bare do
          @fiber = Fiber.current
          Deadline.inherit(@deadline)
          @outcome = Outcome.of { call }
        ensure
          @outcome ||= Outcome.new(nil, Error.new("a task of NB.all was killed (Fiber#kill)"))
          @group.ended(self)
        end
      end

      def started?
        !@fiber.nil?
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

      # Raises Cancelled in the fiber's wait, or in its next one.
      def cancel(reason)
        @cancelled = true
        error = Cancelled.new(reason: reason)
        return @cancellation.cancel(error) if @cancellation

        scheduler = Fiber.scheduler
        scheduler.fiber_interrupt(@fiber, error) if scheduler.respond_to?(:fiber_interrupt)
      end

      private

      # Other schedulers have no #cancellable. They have #fiber_interrupt from Ruby 4.0 on.
      def call
        scheduler = Fiber.scheduler
        return @callable.call unless scheduler.respond_to?(:cancellable)

        scheduler.cancellable do |cancellation|
          @cancellation = cancellation
          @callable.call
        end
      end
    end
  end
end
