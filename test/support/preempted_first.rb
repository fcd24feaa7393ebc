# frozen_string_literal: true

# The head of a script in which a fiber begins with code of a gem, as with New Relic's agent, and
# its time slice ends there: in the second fiber more often than in the first. Fibers of the main
# thread are never preempted.
module PreemptedFirst
  TEXT = <<~RUBY
    require "neverblock"

    $times = 0
    Fiber.prepend(Module.new do
      def initialize(**options, &block)
        super(**options) do
          ($times += 2).times { be_preempted } if $sliced
          block.call
        end
      end

      def be_preempted
        scheduler = Fiber.scheduler
        before = scheduler.preemptions
        scheduler.end_timeslice
        nil until scheduler.preemptions > before
      end
    end)

    def sliced
      Thread.new do
        Fiber.set_scheduler(NeverBlock::Scheduler.new)
        Fiber.scheduler.slice_ms = 1
        Fiber.schedule { ($sliced = true) && yield }
        Fiber.scheduler.run
      end.join
    end
  RUBY
end
