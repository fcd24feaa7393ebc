# frozen_string_literal: true

# Ruby 3.3 and later: Fiber#kill on a fiber that waits in a scheduler transfers to it, as
# Fiber#raise does (cont.c, rb_fiber_m_kill and fiber_raise), and its caller never runs again. A
# fiber that Ruby has killed is ended at every switch to it (fiber_check_killed), so that its
# `ensure` blocks end at their first wait.
#
# Here the fiber ends in its wait, in its turn, by a `throw` to where the scheduler has started it.
# No rescue sees that, and `ensure` blocks may wait. A fiber that the scheduler has not started
# (Fiber.new in a scheduled one) has no such place. Ruby kills it, also in its turn.

module NeverBlock
  module Compat
    module FiberKill
      KILL = Fiber.instance_method(:kill)
      INSPECT = Fiber.instance_method(:inspect)
      private_constant :KILL, :INSPECT

      # Raised in the wait. Instead of making an exception, #exception ends the fiber that calls it.
      module Ending
        extend FromOutside

        def self.exception(*)
          throw Scheduler
        rescue UncaughtThrowError
          KILL.bind_call(Fiber.current)
        end
      end
      private_constant :Ending

      # @return [Fiber, false] of a waiting fiber: it has not ended yet; false: it was killed before
      def kill
        scheduler = Compat.scheduler
        killed_before = @neverblock_killed
        @neverblock_killed = true # Compat.killed?
        return super unless scheduler && alive?
        return false if killed_before

        Ending.exception if equal?(Fiber.current)
        # false: the fiber was woken, and has to return from that wait first.
        sleep(0) while (ended = scheduler.raise_in(self, Ending)) == false
        return self if ended
        unless INSPECT.bind_call(self).end_with?("by resuming)>")
          return scheduler.passing_regions { super }
        end

        FiberRaise.apart { super }
        self
      end
    end

    Fiber.prepend(FiberKill)
  end
end
