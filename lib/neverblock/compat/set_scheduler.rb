# frozen_string_literal: true

# Fiber.set_scheduler first runs the thread's scheduler to its end (scheduler.c,
# rb_fiber_scheduler_set). In a fiber of that scheduler's own loop the end never comes while the
# server runs. The request would hang, and the loop with it, without a message. Every Ruby.
#
# A request on a thread has no scheduler, and its code may set one of its own for a while, as Async
# does (compat/async.rb). Here an error names the places where that works.

module NeverBlock
  module Compat
    module SetScheduler
      # @raise [Error] for another scheduler, in a fiber of our loop
      def set_scheduler(scheduler)
        current = Fiber.scheduler
        ours = Scheduler::Above.beneath(current)
        return super unless ours&.inside?
        unless scheduler.nil? || scheduler.equal?(current)
          raise Error, SetScheduler.refusal(scheduler)
        end

        ours.run unless scheduler
        scheduler
      end

      def self.refusal(scheduler)
        "Fiber.set_scheduler(#{scheduler.class}) was called in a fiber of NeverBlock's loop, " \
          "and a thread has one loop: call it on a thread of its own, `NB.offload { ... }`, " \
          "or serve these requests on threads, `route \"/path/*\", lane: :thread`"
      end
    end

    Fiber.singleton_class.prepend(SetScheduler)
  end
end
