# frozen_string_literal: true

# Ruby 3.3 and later: Fiber#kill at a fiber that waits in a scheduler transfers to it, as Fiber#raise does (cont.c, rb_fiber_m_kill and fiber_raise), and who
# killed would never run again. And a fiber that Ruby has killed is cut off whenever it is switched to (fiber_check_killed), so that its ensure blocks get no
# further than their first wait.
#
# Here the fiber ends in its wait when its turn comes, by a throw to where the scheduler started it, which no rescue sees: ensure blocks may wait. A fiber
# that the scheduler has not started (Fiber.new in a scheduled one) has no such place, and is killed by Ruby, but in its turn too.

module NeverBlock
  module Compat
    module FiberKill
      KILL = Fiber.instance_method(:kill)
      INSPECT = Fiber.instance_method(:inspect)
      private_constant :KILL, :INSPECT

      # What is raised in the wait: instead of making an exception it ends the fiber that asks for one.
      module Ending
        extend FromOutside

        def self.exception(*)
          throw Scheduler
        rescue UncaughtThrowError
          KILL.bind_call(Fiber.current)
        end
      end
      private_constant :Ending

      # @return [Fiber, false] at a fiber that waits: it has not ended yet; false: it was killed before
      def kill
        scheduler = Compat.scheduler
        return super unless scheduler && alive?
        return false if @neverblock_killed

        @neverblock_killed = true
        Ending.exception if equal?(Fiber.current)
        # false: it was woken and has to use what it was woken for first.
        sleep(0) while (ended = scheduler.raise_in(self, Ending)) == false
        return self if ended
        return super unless INSPECT.bind_call(self).end_with?("by resuming)>")

        FiberRaise.apart { super }
        self
      end
    end

    Fiber.prepend(FiberKill)
  end
end
