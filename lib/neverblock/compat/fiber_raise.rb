# frozen_string_literal: true

# Fiber#raise at a fiber that waits in a scheduler transfers to it (cont.c, fiber_raise), and nobody transfers back: the fiber that raised would never
# run again. Every Ruby with transferring schedulers; async has Scheduler#raise for it. Here the exception is handed to the scheduler, and is raised in the
# wait when its turn comes.
#
# From Ruby 3.3 on the same happens when the fiber has resumed another (an Enumerator's, say) that waits: Ruby raises in that one. Before, it is a FiberError.

module NeverBlock
  module Compat
    module FiberRaise
      INSPECT = Fiber.instance_method(:inspect)
      private_constant :INSPECT

      # @return [nil] at a fiber that waits: it has not raised yet
      def raise(*arguments, **options)
        scheduler = options.empty? ? Compat.scheduler : nil
        return super unless scheduler

        # false: it was woken and has to use what it was woken for first.
        sleep(0) while (raised = scheduler.raise_in(self, *arguments)) == false
        return nil if raised
        return super unless INSPECT.bind_call(self).end_with?("by resuming)>")

        FiberRaise.apart { super }
      end

      # Runs the block in a fiber that may never come back; this one goes on when what the block has switched to waits or has ended.
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
