# frozen_string_literal: true

require_relative "../../support/killed_fiber"
require_relative "../../support/scheduler_harness"
require "io/wait"
require "monitor"

# Tests waits that need no descriptor: sleep, Queue, Mutex, Monitor, ConditionVariable, Thread#join.
# Fifty fibers wait in the same way at once.
class SchedulerWaitsTest < Minitest::Test
  include SchedulerHarness

  FIBERS = 50

  def test_sleeping_fibers_are_all_asleep_at_once_and_unblock_wakes_each
    gate = Gate.new(FIBERS)
    woken = []
    in_scheduler do
      fibers = Array.new(FIBERS) do |i|
        fiber do
          gate.enter
          sleep
          woken << i
        end
      end
      when_full(gate) { fibers.each { |f| Fiber.scheduler.unblock(:test, f) } }
    end
    assert_equal (0...FIBERS).to_a, woken
  end

  def test_a_fiber_that_has_not_parked_finds_the_same_number_of_switches
    counts = []
    in_scheduler do
      fiber do
        2.times { counts << Fiber.scheduler.switches }
        sleep(0)
        counts << Fiber.scheduler.switches
      end
    end
    assert_equal counts[0], counts[1]
    assert_operator counts[2], :>, counts[1]
  end

  def test_sleep_takes_at_least_its_time_for_each_kind_of_number
    [0.02, Rational(1, 50), 0.02r].each do |duration|
      began = clock
      in_scheduler { fiber { sleep(duration) } }
      assert_operator clock - began, :>=, 0.02
    end
  end

  def test_sleep_counts_from_the_call_and_not_from_when_its_fiber_was_switched_to
    in_scheduler do
      fiber do
        spin_until(clock + 0.03)
        began = clock
        sleep(0.02)
        assert_operator clock - began, :>=, 0.02
      end
    end
  end

  def test_sleep_refuses_what_ruby_refuses
    in_scheduler do
      fiber do
        assert_raises(ArgumentError) { sleep(-1) }
        assert_raises(ArgumentError) { sleep(-0.5) }
        assert_raises(TypeError) { sleep("1") }
        assert_raises(FloatDomainError, RangeError) { sleep(Float::NAN) }
      end
    end
  end

  # As threads that end give back theirs.
  def test_what_a_fiber_holds_that_ends_is_given_to_those_who_wait
    mutex = Mutex.new
    monitor = Monitor.new
    order = []
    in_scheduler do
      holder = fiber { monitor.enter.nil? && mutex.lock && sleep }
      5.times { |i| fiber { [mutex, monitor][i % 2].synchronize { sleep(0) && order << i } } }
      fiber { Fiber.scheduler.unblock(:test, holder) }
    end
    assert_equal (0...5).to_a, order.sort
    refute_predicate mutex, :locked?
  end

  def test_what_a_fiber_holds_that_raises_is_given_to_one_of_another_loop
    mutex = Mutex.new
    held = Queue.new
    waiting = Queue.new
    taken = Queue.new
    other = Thread.new do
      held.pop
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      Fiber.schedule { mutex.synchronize { taken << true } }
      waiting << true
    end
    in_scheduler do
      Fiber.schedule do
        mutex.lock and held << true and waiting.pop
        throw NeverBlock::Scheduler
      end
      fiber { taken.pop }
    end
    assert other.join(SECONDS)
  end

  def test_what_a_fiber_holds_that_ends_is_free_for_those_who_come_later
    locks = [Mutex.new, Monitor.new]
    taken = []
    in_scheduler do
      fiber { locks.first.lock && locks.last.enter }
      fiber { locks.each { |lock| lock.synchronize { taken << lock } } }
    end
    assert_equal locks, taken
  end

  def test_what_a_fiber_holds_that_ends_is_given_to_a_thread_without_a_loop
    mutex = Mutex.new
    in_scheduler do
      holder = fiber { mutex.lock && sleep }
      thread = Thread.new { mutex.synchronize { :taken } }
      fiber do
        sleep(0) until thread.stop?
        Fiber.scheduler.unblock(:test, holder)
        assert_equal :taken, thread.value
      end
    end
  end

  def test_what_nobody_waits_for_stays_with_a_fiber_that_has_not_ended
    mutex = Mutex.new
    in_scheduler do
      holder = fiber { mutex.synchronize { sleep } }
      fiber { mutex.synchronize { sleep(0) } }
      fiber { nil }
      fiber do
        assert_predicate mutex, :locked?
        Fiber.scheduler.unblock(:test, holder)
      end
    end
  end

  def test_timers_fire_in_the_order_of_their_deadlines
    order = []
    due = {} # each between two times, for the thread may stand still between any two steps
    in_scheduler do
      [0.08, 0.04, 0.06, 0.02].each do |seconds|
        before = clock
        fiber { sleep(seconds) and order << seconds }
        due[seconds] = (before + seconds)..(clock + seconds)
      end
    end
    assert_equal due.keys.sort, order.sort
    due.to_a.permutation(2) do |(one, first), (other, later)|
      assert_operator order.index(one), :<, order.index(other) if first.end < later.begin
    end
  end

  def test_sleep_0_lets_every_ready_fiber_run_once_in_turn
    order = []
    in_scheduler { 3.times { |i| fiber { 3.times { sleep(0) and order << i } } } }
    assert_equal [0, 1, 2] * 3, order
  end

  def test_sleep_longer_than_any_clock_is_a_sleep_without_end
    in_scheduler do
      f = fiber { sleep(10**12) }
      fiber { Fiber.scheduler.unblock(:test, f) }
    end
  end

  def test_queue_pop_lets_others_run_until_something_is_pushed
    queue = Queue.new
    popped = []
    gate = Gate.new(FIBERS)
    in_scheduler do
      FIBERS.times { fiber { gate.enter and popped << queue.pop } }
      when_full(gate) { FIBERS.times { |i| queue << i } }
    end
    assert_equal (0...FIBERS).to_a, popped.sort
  end

  def test_queue_close_wakes_every_fiber_that_pops
    queue = Queue.new
    gate = Gate.new(FIBERS)
    popped = []
    in_scheduler do
      FIBERS.times { fiber { gate.enter and popped << queue.pop } }
      when_full(gate) { queue.close }
    end
    assert_equal [nil] * FIBERS, popped
  end

  def test_sized_queue_parks_the_pusher_until_there_is_room
    queue = SizedQueue.new(1)
    gate = Gate.new(FIBERS)
    popped = []
    in_scheduler do
      FIBERS.times { |i| fiber { gate.enter and queue.push(i) } }
      when_full(gate) { FIBERS.times { popped << queue.pop } }
    end
    assert_equal (0...FIBERS).to_a, popped.sort
  end

  def test_a_mutex_excludes_and_its_waiters_park
    mutex = Mutex.new
    gate = Gate.new(FIBERS)
    holders = highest = 0
    in_scheduler do
      fiber { mutex.synchronize { gate.wait_full } }
      FIBERS.times do
        fiber do
          gate.enter
          mutex.synchronize do
            highest = [highest, holders += 1].max
            sleep(0)
            holders -= 1
          end
        end
      end
    end
    assert_equal 1, highest
  end

  def test_a_monitor_excludes_and_its_waiters_park
    monitor = Monitor.new
    gate = Gate.new(FIBERS)
    done = 0
    in_scheduler do
      fiber { monitor.synchronize { gate.wait_full } }
      FIBERS.times do
        fiber do
          gate.enter and monitor.synchronize { monitor.synchronize { sleep(0) and done += 1 } }
        end
      end
    end
    assert_equal FIBERS, done
  end

  def test_a_condition_variable_wakes_by_signal_and_by_broadcast
    mutex = Mutex.new
    condition = ConditionVariable.new
    gate = Gate.new(FIBERS)
    woken = 0
    in_scheduler do
      FIBERS.times do
        fiber { mutex.synchronize { gate.enter and condition.wait(mutex) and woken += 1 } }
      end
      when_full(gate) do
        mutex.synchronize { condition.signal }
        sleep(0) until woken == 1
        mutex.synchronize { condition.broadcast }
      end
    end
    assert_equal FIBERS, woken
  end

  def test_a_condition_variable_with_a_timeout_ends_at_the_signal_or_at_the_timeout
    mutex = Mutex.new
    condition = ConditionVariable.new
    ended = []
    in_scheduler do
      fiber { mutex.synchronize { condition.wait(mutex, 0.01) } or ended << :timeout }
      fiber { mutex.synchronize { condition.wait(mutex, 60) } and ended << :signal }
      fiber do
        sleep(0) until ended == [:timeout]
        mutex.synchronize { condition.broadcast }
      end
    end
    assert_equal %i[timeout signal], ended
  end

  def test_waits_that_give_up_a_lock_tell_of_their_end_as_on_a_thread
    waits = lambda do
      mutex = Mutex.new
      monitor = Monitor.new
      condition = monitor.new_cond
      mutex.synchronize { [mutex.sleep(0), mutex.sleep(0.001), refusals(mutex)] } +
        mutex.synchronize { [ConditionVariable.new.wait(mutex, 0.001), mutex.owned?] } +
        monitor.synchronize { [condition.wait(0.001), monitor.mon_owned?] }
    end
    seen = nil
    in_scheduler { fiber { seen = waits.call } }
    assert_equal Thread.new(&waits).value, seen
  end

  def test_a_wait_that_gives_up_a_lock_and_is_woken_tells_its_seconds
    mutex = Mutex.new
    condition = ConditionVariable.new
    seen = nil
    in_scheduler do
      fiber { mutex.synchronize { seen = condition.wait(mutex, SECONDS) } }
      fiber { mutex.synchronize { condition.signal } }
    end
    assert_kind_of Integer, seen
  end

  # They are killed when their sleep is over, while the killer has the lock.
  def test_waits_that_are_killed_while_they_take_their_lock_again_end_with_it
    monitor = Monitor.new
    condition = monitor.new_cond
    mutex = Mutex.new
    owned = []
    waits = {
      monitor => -> { noting(owned, monitor.method(:mon_owned?)) { condition.wait } },
      mutex => -> { noting(owned, mutex.method(:owned?)) { mutex.sleep } }
    }
    waits.each do |lock, wait|
      in_scheduler do
        killed = Fiber.schedule { lock.synchronize(&wait) }
        fiber do
          lock.synchronize { kill_at_the_lock(killed) }
          sleep(0) while killed.alive?
          lock.synchronize { owned << :free }
        end
      end
    end
    assert_equal [true, :free] * 2, owned
  end

  def test_a_monitor_condition_wakes
    monitor = Monitor.new
    condition = monitor.new_cond
    ready = false
    in_scheduler do
      fiber { monitor.synchronize { condition.wait_until { ready } } }
      fiber { monitor.synchronize { (ready = true) && condition.signal } }
    end
    assert ready
  end

  def test_block_tells_an_unblock_from_a_timeout
    in_scheduler do
      scheduler = Fiber.scheduler
      fiber { refute scheduler.block(:test, 0.001) }
      blocked = fiber { assert scheduler.block(:test, 60) }
      fiber { scheduler.unblock(:test, blocked) }
    end
  end

  def test_an_unblock_that_comes_twice_or_late_wakes_no_later_wait
    order = []
    in_scheduler do
      scheduler = Fiber.scheduler
      blocked = fiber do
        scheduler.block(:first)
        order << :first
        assert_equal false, scheduler.block(:second, 0.01)
        order << :second
        r, _w = IO.pipe
        refute r.wait_readable(0.01)
      end
      fiber { 3.times { scheduler.unblock(:first, blocked) } }
      fiber do
        sleep(0) until order.size == 2
        scheduler.unblock(:second, blocked)
      end
    end
    assert_equal %i[first second], order
  end

  def test_unblock_of_a_fiber_that_does_not_wait_is_nothing
    in_scheduler do
      scheduler = Fiber.scheduler
      finished = fiber { nil }
      fiber { scheduler.unblock(:test, finished) }
      fiber { scheduler.unblock(:test, Fiber.current) }
    end
  end

  def test_ten_thousand_fibers_sleep_at_once
    count = 10_000
    gate = Gate.new(count)
    ended = 0
    in_scheduler do
      fibers = Array.new(count) { fiber { gate.enter and sleep and ended += 1 } }
      when_full(gate) { fibers.each { |f| Fiber.scheduler.unblock(:test, f) } }
    end
    assert_equal count, ended
  end

  private

  def noting(notes, asked)
    yield
  ensure
    notes << asked.call
  end

  # The fiber wakes, and waits for the lock that the caller has.
  def kill_at_the_lock(fiber)
    Fiber.scheduler.unblock(:test, fiber)
    sleep(0)
    KilledFiber.kill(fiber)
    sleep(0)
  end

  def refusals(mutex)
    [-1, "x", [1, 2]].map do |timeout|
      mutex.sleep(*timeout)
    rescue ArgumentError, TypeError => e
      [e.class, e.message, mutex.owned?]
    end
  end

  def clock
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  def spin_until(time)
    nil while clock < time
  end
end
