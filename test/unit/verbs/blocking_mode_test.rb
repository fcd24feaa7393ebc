# frozen_string_literal: true

require_relative "verbs_case"
require "socket"

# NB.neverblock and NB.neverblocking?: which waits keep the thread, and how the mode ends.
# (test/unit/scheduler/pin_test.rb has what #pin does to each wait.)
class BlockingModeTest < VerbsCase
  def test_fibers_of_a_loop_are_in_evented_mode_and_nothing_else_is
    refute_predicate NB, :neverblocking?
    assert(run_loop { NB.neverblocking? })
    refute(run_loop { NeverBlock::Compat.blocking { NB.neverblocking? } })
  end

  def test_the_block_returns_its_value_in_either_mode_inside_a_loop_and_outside
    assert_equal 1, NB.neverblock { 1 }
    assert_equal 2, NB.neverblock(false) { 2 }
    assert_equal [1, 2], run_loop { [NB.neverblock { 1 }, NB.neverblock(false) { 2 }] }
  end

  def test_it_needs_a_block
    assert_raises(ArgumentError) { NB.neverblock(false) }
  end

  # Each wait lets others run in a fiber of the loop, and none in a blocking block.
  # If a wait in a blocking block did, the other fiber would count.
  def test_every_wait_of_a_blocking_block_keeps_the_thread
    waits = {
      sleep: -> { sleep(0.002) },
      io: -> { IO.pipe.then { |r, w| Thread.new { sleep(0.002) and w.write("x") } and r.read(1) } },
      select: -> { IO.select(nil, nil, nil, 0.002) },
      process: -> { system("true") },
      name: -> { Addrinfo.getaddrinfo("localhost", 80) }
    }
    run_loop do
      waits.each do |name, wait|
        turns = turns_of_others_during { NB.neverblock(false, &wait) }
        assert_equal 0, turns, "#{name} let others run"
      end
      assert_operator turns_of_others_during(&waits[:sleep]), :>, 0,
                      "the count of others proves nothing"
    end
  end

  def test_a_mutex_that_another_fiber_holds_still_parks_and_locks
    run_loop do
      mutex = Thread::Mutex.new
      order = []
      Fiber.schedule { mutex.synchronize { sleep(0) and order << :holder } }
      NB.neverblock(false) { mutex.synchronize { order << :waiter } }
      assert_equal %i[holder waiter], order
    end
  end

  def test_modes_nest_and_each_ends_with_its_block
    run_loop do
      seen = []
      NB.neverblock(false) do
        seen << NB.neverblocking?
        NB.neverblock do
          seen << NB.neverblocking?
          NB.neverblock(false) { seen << NB.neverblocking? }
          seen << NB.neverblocking?
        end
        seen << NB.neverblocking?
      end
      seen << NB.neverblocking?
      assert_equal [false, true, false, true, false, true], seen
    end
  end

  def test_it_is_the_old_fault_made_impossible_that_an_exception_leaves_the_mode_behind
    run_loop do
      assert_raises(Failure) { NB.neverblock(false) { raise Failure } }
      assert_predicate NB, :neverblocking?
      catch(:out) { NB.neverblock(false) { throw :out } }
      assert_predicate NB, :neverblocking?
      [1].each { NB.neverblock(false) { break } }
      assert_predicate NB, :neverblocking?
    end
  end

  def test_the_mode_is_one_fibers_and_not_that_of_those_it_schedules
    run_loop do
      NB.neverblock(false) do
        seen = nil
        Fiber.schedule { seen = NB.neverblocking? }
        assert seen
      end
    end
  end

  def test_under_another_scheduler_a_blocking_block_runs_without_hooks
    foreign = Class.new do
      attr_reader :slept

      def initialize = @slept = 0
      def fiber(&block) = ::Fiber.new(blocking: false, &block).tap(&:resume)
      def kernel_sleep(_seconds = nil) = @slept += 1
      def block(...) = nil
      def unblock(...) = nil
      def io_wait(...) = nil
      def fiber_interrupt(...) = nil
      def close = nil
    end
    bounded do
      Fiber.set_scheduler(scheduler = foreign.new)
      Fiber.schedule do
        assert_predicate NB, :neverblocking?
        sleep(0)
        assert_equal 1, scheduler.slept
        assert_equal(:value, NB.neverblock(false) do
          refute_predicate NB, :neverblocking?
          sleep(0)
          :value
        end)
        assert_equal(2, NB.neverblock { sleep(0) and 2 })
        assert_equal 2, scheduler.slept
      end
      Fiber.set_scheduler(nil)
    end
  end

  private

  # A fiber that is always ready counts how often it gets to run.
  def turns_of_others_during
    turns = 0
    done = false
    Fiber.schedule { (sleep(0) and turns += 1) until done }
    before = turns
    yield
    turns - before
  ensure
    done = true
  end
end
