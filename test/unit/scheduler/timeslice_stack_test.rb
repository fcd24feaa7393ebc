# frozen_string_literal: true

require_relative "../../support/patience"
require_relative "../../support/timeslices"
require "neverblock"

# Tests what a preemption leaves where the fiber's stack has no room for it.
class SchedulerTimesliceStackTest < Minitest::Test
  include Timeslices

  DESCENTS = 24
  SPINS = 30_000

  # Where the last frames compute, the preemption itself meets the end of the stack. Ruby marks the
  # fiber then: it handles no interrupts, and its next overflow goes past a rescue.
  def test_a_fiber_is_preempted_after_a_preemption_found_no_stack
    done = false
    preempted = []
    in_timeslices do |scheduler|
      fiber { sleep(0) until done }
      fiber do
        # Frames of other sizes before the descent move its end.
        DESCENTS.times { |frames| preempted << preempted_after?(scheduler, frames) }
        done = true
      end
    end
    assert_equal [true], preempted.uniq
  end

  # The same at the end of the machine's stack, where Ruby's checks leave 16 KB.
  def test_a_fiber_is_preempted_after_a_preemption_found_no_machine_stack
    done = false
    preempted = []
    in_timeslices do |scheduler|
      fiber { sleep(0) until done }
      fiber do
        DESCENTS.times do |frames|
          preempted << preempted_after?(scheduler, frames, :descend_by_blocks)
        end
        done = true
      end
    end
    assert_equal [true], preempted.uniq
  end

  # The switch itself may find no stack. What Ruby raises then is nobody's: the fiber goes on, and
  # its next wait raises nothing.
  def test_a_switch_that_finds_no_stack_raises_nothing_later
    done = false
    seen = []
    in_timeslices do
      fiber { sleep(0) until done }
      fiber do
        (DESCENTS * 4).times { |frames| seen << waits_after_overflow(frames) }
        done = true
      end
    end
    assert_equal [:fine], seen.uniq
  end

  private

  # @return [Symbol, Class] :fine, or what a wait has raised after an overflow that was rescued
  def waits_after_overflow(frames)
    last = deepest(frames, nil, :descend_by_blocks)
    result = Queue.new
    fiber do
      deepest(frames, last - 1, :descend_by_blocks)
      sleep(0.0001)
      result << :fine
    rescue Exception => e # rubocop:disable Lint/RescueException -- it is what the test looks for
      result << e.class
    end
    result.pop
  end

  # In a fiber of its own, beside one that is always ready.
  def preempted_after?(scheduler, frames, how = :descend)
    last = deepest(frames, nil, how)
    result = Queue.new
    fiber do
      deepest(frames, last - 1, how)
      before = scheduler.preemptions
      limit = Patience::Limit.new
      nil until scheduler.preemptions > before || limit.over?
      result << (scheduler.preemptions > before)
    end
    result.pop
  end

  # @return [Integer] the depth at which the stack ended
  def deepest(frames, from, how = :descend)
    @depth = 0
    before_descent(frames, from, how)
  rescue SystemStackError
    @depth
  end

  def before_descent(frames, from, how)
    return send(how, 0, from) if frames.zero?

    frames.then { |left, _, _| before_descent(left - 1, from, how) }
  end

  # Each level takes of the machine's stack, too, which ends first.
  def descend_by_blocks(depth, from)
    @depth = depth
    spin(SPINS) if from && depth >= from
    [1].sum { |one| one + descend_by_blocks(depth + 1, from) }
  end

  def descend(depth, from)
    @depth = depth
    spin(SPINS) if from && depth >= from
    1 + descend(depth + 1, from)
  end

  def spin(count)
    count -= 1 while count.positive?
  end
end
