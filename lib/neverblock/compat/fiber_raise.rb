# frozen_string_literal: true

# Fiber#raise on a fiber that waits in a scheduler transfers to it (cont.c, fiber_raise), and
# nothing transfers back: the caller never runs again. Every Ruby, with schedulers that transfer;
# async has Scheduler#raise in its place. Here the scheduler gets the exception and raises it in the
# wait, in the fiber's turn.
#
# From Ruby 3.3 on the same happens when the fiber has resumed another one that waits (an
# Enumerator's, for instance): Ruby raises in that one. Earlier Rubies raise FiberError.

module NeverBlock
  module Compat
    module FiberRaise
      INSPECT = Fiber.instance_method(:inspect)
      private_constant :INSPECT

      # Ruby's own.
      RUBYS = Fiber.instance_method(:raise)

      # @return [nil] of a waiting fiber: the exception is not raised yet
      def raise(*arguments, **options)
        scheduler = options.empty? ? Compat.scheduler : nil
        above = Fiber.scheduler unless scheduler
        return above.raise(self, *arguments, **options) if above.is_a?(Scheduler::Above)
        return super unless scheduler

        # false: the fiber was woken, and has to return from that wait first.
        sleep(0) while (raised = scheduler.raise_in(self, *arguments)) == false
        return nil if raised
        unless INSPECT.bind_call(self).end_with?("by resuming)>")
          return scheduler.passing_regions { super }
        end

        FiberRaise.apart { super }
      end

      # Runs the block in a fiber that may never return to it. The caller goes on when the fiber
      # that the block has switched to waits or has ended.
      def self.apart
        error = nil
        Fiber.schedule do
          yield
        rescue FiberError => e
          error = e
        end
        error ? Kernel.raise(error) : nil
      end
    end

    Fiber.prepend(FiberRaise)
  end
end
