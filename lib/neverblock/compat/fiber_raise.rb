# frozen_string_literal: true

# Fiber#raise at a fiber that waits in a scheduler transfers to it (cont.c, fiber_raise), and nobody transfers back: the fiber that raised would never
# run again. Every Ruby with transferring schedulers; async has Scheduler#raise for it. Here the exception is handed to the scheduler, and is raised in the
# wait when its turn comes.

module NeverBlock
  module Compat
    module FiberRaise
      # @return [nil] at a fiber that waits: it has not raised yet
      def raise(*arguments, **options)
        scheduler = options.empty? ? Compat.scheduler : nil
        return super unless scheduler

        # false: it was woken and has to use what it was woken for first.
        sleep(0) while (raised = scheduler.raise_in(self, *arguments)) == false
        raised ? nil : super
      end
    end

    Fiber.prepend(FiberRaise)
  end
end
