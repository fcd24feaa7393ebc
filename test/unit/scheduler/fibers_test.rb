# frozen_string_literal: true

require_relative "../../support/scheduler_harness"

# Tests which fiber runs when: scheduling inside fibers, nested fibers and enumerators, run and
# close, fairness, exceptions.
class SchedulerFibersTest < Minitest::Test
  include SchedulerHarness

  def test_schedule_runs_the_block_until_its_first_wait_and_then_the_caller
    order = []
    in_scheduler do
      fiber do
        order << 1
        fiber { order << 2 and sleep(0) and order << 5 }
        order << 3
        fiber { order << 4 }
      end
    end
    assert_equal [1, 2, 3, 4, 5], order
  end

  def test_schedule_three_deep_returns_level_by_level
    order = []
    in_scheduler do
      fiber do
        fiber do
          fiber { order << :inner and sleep(0) and order << :late }
          order << :middle
          sleep(0)
        end
        order << :outer
      end
    end
    assert_equal %i[inner middle outer late], order
  end

  def test_schedule_returns_a_non_blocking_fiber_that_ends
    scheduled = nil
    in_scheduler do
      scheduled = fiber { refute_predicate Fiber.current, :blocking? }
    end
    refute_predicate scheduled, :alive?
  end

  def test_schedule_needs_a_block
    assert_raises(ArgumentError) { NeverBlock::Scheduler.new.fiber }
  end

  def test_a_fiber_resumed_by_a_scheduled_one_may_wait_and_yield
    order = []
    in_scheduler do
      fiber do
        nested = Fiber.new do
          sleep(0.001) and order << :slept and Fiber.yield(1) and sleep(0) and 2
        end
        assert_equal 1, nested.resume
        assert_equal 2, nested.resume(true)
      end
      fiber { order << :other }
    end
    assert_equal %i[other slept], order
  end

  def test_nested_fibers_of_many_scheduled_ones_all_wait_at_once
    gate = Gate.new(20)
    queue = Queue.new
    in_scheduler do
      20.times { fiber { Fiber.new { Fiber.new { gate.enter and queue.pop }.resume }.resume } }
      when_full(gate) { 20.times { queue << true } }
    end
    assert gate.full?
  end

  def test_a_fiber_that_nobody_scheduled_runs_the_loop_while_it_waits
    order = []
    in_scheduler do
      fiber { sleep(0) and order << :scheduled }
      order << Fiber.new { sleep(0.005) and :returned }.resume
      fiber { order << :after }
    end
    assert_equal %i[scheduled returned after], order
  end

  def test_an_enumerator_whose_body_has_raised_begins_anew
    found = []
    in_scheduler do
      fiber do
        each = Enumerator.new { |y| (y << 1) && raise(IOError, "off") }
        2.times do
          found << each.next << assert_raises(IOError) { each.next }.message
        end
      end
    end
    assert_equal [1, "off"] * 2, found
  end

  def test_an_enumerator_whose_body_waits_gives_all_its_values
    values = nil
    in_scheduler do
      fiber do
        each = Enumerator.new { |y| 3.times { |i| sleep(0.001) and y << i } }
        values = [each.next, each.next, each.next]
        assert_raises(StopIteration) { each.next }
        values += each.to_a
      end
    end
    assert_equal [0, 1, 2, 0, 1, 2], values
  end

  def test_transfer_between_an_applications_own_fibers_does_not_end_a_wait
    queue = Queue.new
    got = []
    in_scheduler do
      waiter = fiber { got << queue.pop }
      fiber do
        Fiber.new { waiter.transfer }.resume
      rescue FiberError
        nil
      end
      fiber { queue << 1 }
    end
    assert_equal [1], got
  end

  def test_a_fiber_that_gives_way_for_ever_starves_neither_timers_nor_descriptors_nor_threads
    done = []
    queue = Queue.new
    in_scheduler do
      r, w = IO.pipe
      fiber { sleep(0) until done.size == 3 }
      fiber { sleep(0.001) and done << :timer }
      fiber { r.read(1) and done << :descriptor }
      fiber { queue.pop and done << :thread }
      fiber { sleep(0.001) and w.write("x") }
      Thread.new { queue << true }
    end
    assert_equal %i[descriptor thread timer], done.sort
  end

  def test_run_returns_when_no_fiber_is_left_and_may_be_called_again
    in_scheduler do
      scheduler = Fiber.scheduler
      2.times do
        ended = false
        fiber { sleep(0.001) and ended = true }
        assert_same scheduler, scheduler.run
        assert ended
      end
    end
  end

  def test_unsetting_the_scheduler_runs_what_is_left
    ended = false
    in_scheduler do
      fiber { sleep(0.001) and ended = true }
      Fiber.set_scheduler(nil)
      assert ended
    end
  end

  def test_unsetting_the_scheduler_inside_a_fiber_leaves_it_set
    in_scheduler do
      fiber do
        scheduler = Fiber.scheduler
        assert_nil Fiber.set_scheduler(nil)
        assert_same scheduler, Fiber.set_scheduler(scheduler)
        assert_same scheduler, Fiber.current_scheduler
        sleep(0.001)
      end
    end
  end

  def test_another_scheduler_inside_a_fiber_is_an_error_that_says_where_it_can_be
    in_scheduler do
      scheduler = Fiber.scheduler
      fiber do
        error = assert_raises(NeverBlock::Error) { Fiber.set_scheduler(NeverBlock::Scheduler.new) }
        assert_match(/thread of its own, `NB.offload/, error.message)
        assert_same scheduler, Fiber.scheduler
      end
    end
  end

  def test_an_exception_ends_its_fiber_only_and_is_told
    order = []
    _, told = capture_io do
      in_scheduler do
        Fiber.schedule { raise ArgumentError, "at once" }
        Fiber.schedule { sleep(0.001) and raise "after a wait" }
        Fiber.schedule { sleep(0.005) and order << :other }
      end
    end
    assert_equal [:other], order
    assert_match(/terminated with exception.*at once.*ArgumentError/m, told)
    assert_match(/after a wait/, told)
  end

  def test_an_exception_that_cannot_be_told_costs_its_fiber_only_too
    order = []
    stderr = $stderr
    in_scheduler do
      $stderr = IO.pipe.each(&:close).first
      Fiber.schedule { raise "to nobody" }
      order << :other
    ensure
      $stderr = stderr
    end
    assert_equal [:other], order
  end

  def test_exit_in_a_fiber_leaves_the_loop
    thread = Thread.new do
      Thread.current.report_on_exception = false
      scheduler = NeverBlock::Scheduler.new
      Fiber.set_scheduler(scheduler)
      Fiber.schedule { sleep(0.001) and raise SystemExit.new(4) }
      begin
        scheduler.run
      rescue SystemExit => e
        Thread.current[:status] = e.status
      end
    end
    assert thread.join(SECONDS)
    assert_equal 4, thread[:status]
  end

  def test_the_loop_goes_on_after_it_was_left_by_an_exception
    order = []
    in_scheduler do
      scheduler = Fiber.scheduler
      10.times { |i| fiber { sleep(0) and order << i } }
      Fiber.schedule { sleep(0) and raise SystemExit }
      10.times { |i| fiber { sleep(0) and order << (10 + i) } }
      assert_raises(SystemExit) { scheduler.run }
      assert_equal (0...10).to_a, order
      scheduler.run
    end
    assert_equal (0...20).to_a, order
  end

  def test_fiber_interrupt_raises_in_each_kind_of_wait
    raised = []
    in_scheduler do
      r, _w = IO.pipe
      waits = [-> { sleep }, -> { Queue.new.pop }, -> { r.read }, -> { sleep(60) }]
      fibers = waits.each_with_index.map do |wait, i|
        fiber do
          wait.call
        rescue IndexError
          raised << i
        end
      end
      fiber { fibers.each { |f| Fiber.scheduler.fiber_interrupt(f, IndexError.new) } }
    end
    assert_equal [0, 1, 2, 3], raised
  end

  # A Mutex wakes one waiter; if that one raised instead of locking, the others would wait for ever.
  def test_an_interrupt_that_comes_after_the_wake_does_not_take_the_wake_away
    mutex = Mutex.new
    queue = Queue.new
    got = []
    in_scheduler do
      scheduler = Fiber.scheduler
      fiber { mutex.synchronize { sleep(0) until got.size == 2 } }
      lockers = Array.new(2) { |i| fiber { mutex.synchronize { got << "lock #{i}" } } }
      poppers = Array.new(2) { |i| fiber { got << "pop #{i} #{queue.pop}" } }
      fiber do
        2.times { |i| queue << i }
        assert_equal [false, false],
                     poppers.map { |f| scheduler.fiber_interrupt(f, IndexError.new) }
        sleep(0) until got.size > 2
        refute(lockers.any? { |f| scheduler.fiber_interrupt(f, IndexError.new) })
      end
    end
    assert_equal ["lock 0", "lock 1", "pop 0 0", "pop 1 1"], got.sort
  end

  def test_a_waiter_woken_and_interrupted_at_once_leaves_the_mutex_to_the_next
    mutex = Mutex.new
    got = []
    in_scheduler do
      mutex.lock
      lockers = Array.new(3) { |i| fiber { mutex.synchronize { got << i } } }
      mutex.unlock
      Fiber.scheduler.fiber_interrupt(lockers.first, IndexError.new)
    end
    assert_equal [0, 1, 2], got
  end

  def test_what_is_raised_by_fiber_raise_leaves_nothing_behind
    raised = []
    in_scheduler do
      sleeper = fiber do
        sleep(0.01)
      rescue IndexError
        raised << :sleep
        refute Fiber.scheduler.block(:test, 0.02)
        raised << :block
      end
      Fiber.new(blocking: true) { sleeper.raise(IndexError, "x") }.resume
    rescue FiberError
      skip "this Ruby does not raise into a transferred fiber"
    end
    assert_equal %i[sleep block], raised
  end
end
