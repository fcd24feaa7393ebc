# frozen_string_literal: true

require_relative "scheduler_harness"

# A scheduler with time slices, and how a test has one ended: it asks, and computes until that has
# happened, or was refused often enough.
module Timeslices
  include SchedulerHarness

  # Ends of slices that have to be put off to show that they are, and not merely late.
  REFUSALS = 3

  # @yieldparam scheduler [NeverBlock::Scheduler]
  def in_timeslices(slice_ms: 1)
    in_scheduler do
      Fiber.scheduler.slice_ms = slice_ms
      yield Fiber.scheduler
    end
  end

  # Returns true when the calling fiber has been left, and goes on again. For a fiber that can be.
  # The others must not compute for long.
  def be_preempted
    scheduler = Fiber.scheduler
    before = scheduler.preemptions
    scheduler.end_timeslice
    nil until scheduler.preemptions > before
    true
  end

  # Computes until the end of a slice was put off some times, in a place where none may end.
  # @return [Boolean] whether none has
  def stays?(refusals = REFUSALS)
    scheduler = Fiber.scheduler
    preemptions = scheduler.preemptions
    missed = scheduler.preemptions_missed
    scheduler.end_timeslice
    until scheduler.preemptions_missed >= missed + refusals || scheduler.preemptions > preemptions
      nil
    end
    scheduler.preemptions == preemptions
  end

  # More than may be put off one after the other where slices end, by the questions of #stays?.
  MANY_REFUSALS = 300

  # @return [Boolean] whether the calling fiber has been left, and goes on again. As #be_preempted,
  #   with an end where it cannot be.
  def left?
    !stays?(MANY_REFUSALS)
  end
end
