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

      # Runs the callable until its first wait. Its error goes to the group. Where a gem has code
      # of its own in each new fiber, the fiber may be preempted before this block begins.
      def start
        Carry.schedule_bare { run unless @abandoned }
        @started = true
      end

      # Whether the group is told of its end.
      def started?
        @started || !@fiber.nil?
      end

      # The callable is not called, should the fiber begin later.
      def abandon
        @abandoned = true
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

      # Raises Cancelled in the fiber's wait, or in its next one. A task that has not begun begins
      # with it.
      def cancel(reason)
        @cancelled = true
        error = Cancelled.new(reason: reason)
        return @cancellation.cancel(error) if @cancellation

        @early = error
        scheduler = Fiber.scheduler
        return if scheduler.respond_to?(:cancellable) || !scheduler.respond_to?(:fiber_interrupt)

        scheduler.fiber_interrupt(@fiber, error)
      end

      private

      def run
        @fiber = Fiber.current
        Deadline.inherit(@deadline)
        @outcome = Outcome.of { call }
      ensure
        @outcome ||= Outcome.new(nil, Error.new("a task of NB.all was killed (Fiber#kill)"))
        @group.ended(self)
      end

      # Other schedulers have no #cancellable. They have #fiber_interrupt from Ruby 4.0 on.
      def call
        scheduler = Fiber.scheduler
        return @callable.call unless scheduler.respond_to?(:cancellable)

        scheduler.cancellable do |cancellation|
          @cancellation = cancellation
          raise @early if @early

          @callable.call
        end
      end
    end
  end
end
