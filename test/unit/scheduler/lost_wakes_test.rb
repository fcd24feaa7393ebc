# frozen_string_literal: true

require_relative "../../support/scheduler_harness"

# A Mutex, a Queue or a ConditionVariable that wakes one fiber has woken no other: when an exception was raised into that fiber's wait just before, the
# wake comes first and the exception in the fiber's next wait.
class SchedulerLostWakesTest < Minitest::Test
  include SchedulerHarness

  def test_a_mutex_handed_to_a_fiber_that_was_raised_into_goes_on_to_the_next
    mutex = Mutex.new
    order = []
    first = nil
    in_scheduler do
      fiber { mutex.synchronize { sleep(0) && first.raise("told") } }
      first = fiber { mutex.synchronize { order << :first } and order << assert_raises(RuntimeError) { sleep }.message }
      fiber { mutex.synchronize { order << :second } }
    end
    assert_equal [:first, "told", :second], order
  end

  def test_what_is_pushed_for_a_fiber_that_was_raised_into_is_popped_by_it
    queue = Queue.new
    order = []
    in_scheduler do
      popper = fiber { order << queue.pop << assert_raises(RuntimeError) { sleep }.message }
      fiber { popper.raise("told") || queue << :pushed }
    end
    assert_equal [:pushed, "told"], order
  end

  def test_a_signal_for_a_fiber_that_was_raised_into_is_had_by_it
    mutex = Mutex.new
    condition = ConditionVariable.new
    order = []
    in_scheduler do
      waiter = fiber { mutex.synchronize { condition.wait(mutex) && order << :signalled } and order << assert_raises(RuntimeError) { sleep }.message }
      fiber { waiter.raise("told") || condition.signal }
    end
    assert_equal [:signalled, "told"], order
  end

  # What a timeout has to raise ends with its block.
  def test_a_timeout_that_came_before_the_wake_is_raised_in_the_next_wait_of_its_block_only
    queue = Queue.new
    order = []
    in_scheduler do
      scheduler = Fiber.scheduler
      fiber { order << scheduler.timeout_after(0.001, IndexError) { queue.pop } && sleep(0.001) && order << :on }
      fiber { order << assert_raises(IndexError) { scheduler.timeout_after(0.001, IndexError) { queue.pop && sleep } }.class }
      fiber { Thread.new { sleep(0.01) }.join && nil }
      fiber { busy(0.005) || 2.times { queue << :popped } }
    end
    assert_includes order, :on
    assert_includes order, IndexError
  end

  private

  # Both alarms are due when this returns, and their fibers have not run.
  def busy(seconds)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
  end
end
