# frozen_string_literal: true

# Runs a block on a thread with our scheduler and waits for its loop to end, within a bound. What
# overlaps is shown by a gate, never by the clock: each fiber enters, and only when all are inside
# is any let go. A wait that blocks the thread keeps the others out, and the test hangs until its
# bound.

require "test_helper"
require "neverblock/scheduler"
require_relative "patience"

module SchedulerHarness
  SECONDS = Patience::SECONDS

  # Counts who is inside, and lets a fiber wait until all are, by giving way to the others.
  class Gate
    attr_reader :inside

    def initialize(size)
      @size = size
      @inside = 0
    end

    def enter
      @inside += 1
    end

    def full?
      @inside >= @size
    end

    def wait_full
      sleep(0) until full?
    end
  end

  # @yield on the scheduler's thread; fibers it schedules by #fiber report what they raise
  # @return what the block returned
  # @raise the first error of the block or of a fiber
  def in_scheduler(seconds = SECONDS)
    errors = @fiber_errors = []
    thread = Thread.new do
      Thread.current.report_on_exception = false
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      yield
    end
    finish(thread, seconds, errors)
    raise errors.first if errors.any?

    thread.value
  end

  # Fiber.schedule whose exceptions fail the test.
  def fiber(&block)
    errors = @fiber_errors
    Fiber.schedule do
      block.call
    rescue Exception => e # rubocop:disable Lint/RescueException
      errors << e # raised again on the test's own thread
    end
  end

  # Schedules a fiber that waits until the gate is full, then calls the block.
  def when_full(gate, &block)
    fiber do
      gate.wait_full
      block.call
    end
  end

  private

  def finish(thread, seconds, errors)
    return if thread.join(seconds)

    where = thread.backtrace&.first(12)&.join("\n    ")
    thread.kill
    raise errors.first if errors.any?

    flunk "the scheduler's loop had not ended after #{seconds} s; its thread was at\n    #{where}"
  end
end
