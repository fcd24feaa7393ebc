# frozen_string_literal: true

require_relative "../../support/timeslices"
require "neverblock/verbs/offload"

# Tests Scheduler#yield_lock: Ruby's lock for a thread that works for a fiber, while other fibers
# are always ready.
class SchedulerYieldLockTest < Minitest::Test
  include Timeslices

  TURN_S = 0.0002
  # How often the work takes the lock. Ruby takes it from a busy thread every 100 ms
  # (TIME_QUANTUM_MSEC in thread.c): hundreds of turns each. On a busy machine the worker's own
  # thread is often woken after as many. A few times suffice to show that the lock was there for it.
  PLAYS = 8
  TIMES = 60
  QUICK = 3
  TURNS_MAX = 5

  def test_a_worker_has_the_lock_after_a_turn_and_not_after_a_hundred
    assert_operator turns_beside { |turn| NeverBlock.offload { take_lock(turn) } }, :<, TURNS_MAX
  end

  def test_a_worker_has_the_lock_after_a_slice_beside_fibers_that_only_compute
    seen = nil
    in_timeslices do |scheduler|
      2.times { fiber { sleep(0) && (nil until seen) } }
      fiber { seen = NeverBlock.offload { take_lock(-> { scheduler.preemptions }) } }
    end
    assert_operator turns_between(seen, TIMES / 2), :<, TURNS_MAX
  end

  def test_who_waits_for_a_thread_yields_the_lock
    assert_operator turns_beside { |turn| Thread.new { take_lock(turn) }.value }, :<, TURNS_MAX
  end

  def test_any_wait_can_yield_the_lock
    found = turns_beside do |turn|
      queue = Queue.new
      Thread.new { queue << take_lock(turn) }
      Fiber.scheduler.yield_lock { queue.pop }
    end
    assert_operator found, :<, TURNS_MAX
  end

  def test_yield_lock_is_its_blocks_value_and_ends_with_an_exception
    in_scheduler do
      scheduler = Fiber.scheduler
      assert_equal 5, scheduler.yield_lock { scheduler.yield_lock { 5 } }
      assert_raises(IOError) { scheduler.yield_lock { raise IOError } }
      assert_raises(LocalJumpError) { scheduler.yield_lock }
    end
  end

  # The share holds however often the lock is offered. (Without a yield_lock Ruby gives each thread
  # half of the time.) Without a bound the loop has some hundredths of the time. How soon the kernel
  # wakes the thread that may have the lock is the machine's affair, hence the best of some plays.
  def test_a_thread_that_keeps_the_lock_leaves_the_loop_a_third_of_the_time
    shares = []
    shares << share_beside_a_hog until shares.size == PLAYS || shares.last.to_f > 0.2
    assert_operator shares.max, :>, 0.2
  end

  private

  # @return [Float] the loop's part of the processor time of a loop that yields the lock and of a
  #   thread that keeps it
  def share_beside_a_hog
    done = false
    hog = Thread.new { run_until { done } }
    own = nil
    in_scheduler do
      fiber { Fiber.scheduler.yield_lock { sleep(0) until done } }
      fiber do
        until_used = used + 0.3 # Ruby 3.1 makes new threads of native ones that have run others
        own = run_until { sleep(0) and used > until_used }
        done = true
      end
    end
    own / (own + hog.value)
  ensure
    done = true
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def used = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)

  # @return [Float] what the thread has run meanwhile, which other processes have no part in
  def run_until
    began = used
    until yield
      began_turn = used
      nil while used - began_turn < TURN_S
    end
    used - began
  end

  # Gives Ruby's lock away and waits for it again. (What sleeps in the kernel is woken when the
  # machine has time.)
  # @return [Array<Integer>] the turn at each
  def take_lock(turn)
    Array.new(TIMES) do
      Thread.pass
      turn.call
    end
  end

  # One turn.
  def spin
    began = now
    nil while now - began < TURN_S
    sleep(0)
  end

  # @return [Integer] turns of a busy loop between two times that the work has the lock; there were
  #   no more in `times` cases
  def turns_between(seen, times = QUICK)
    seen.each_cons(2).map { |before, after| after - before }.sort[times - 1]
  end

  # @return [Integer] as #turns_between
  def turns_beside(&block)
    turns = 0
    seen = nil
    in_scheduler do
      fiber { seen = block.call(-> { turns }) }
      fiber { (turns += 1) && spin until seen }
    end
    turns_between(seen)
  end
end
