# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "io/wait"
require "objspace"

# Collections while fibers are parked, and of schedulers with parked fibers.
class SchedulerGCTest < Minitest::Test
  include SchedulerHarness

  # When Ruby 3.1 compacts, it takes whatever lies on any thread's stack for an object
  # (rb_vm_each_stack_value in vm.c). It crashes of what older tests' threads have left there.
  # lifecycle_test.rb compacts in a process of its own.
  COMPACTS = GC.respond_to?(:compact) && RUBY_VERSION >= "3.2"

  def test_parked_fibers_that_nobody_else_knows_survive_collections
    gate = Gate.new(40)
    ended = 0
    in_scheduler do
      scheduler = Fiber.scheduler
      r, w = IO.pipe
      10.times { fiber { gate.enter and scheduler.block(:test, 0.05) or ended += 1 } }
      10.times { fiber { gate.enter and sleep(0.05) and ended += 1 } }
      10.times { fiber { gate.enter and r.wait_readable and ended += 1 } }
      10.times do
        fiber do
          gate.enter and Fiber.new { Fiber.new { sleep(0.05) }.resume }.resume and ended += 1
        end
      end
      when_full(gate) do
        5.times { GC.start and Array.new(10_000) { Object.new } and GC.start(full_mark: false) }
        GC.compact if COMPACTS
        w.write("x")
      end
    end
    assert_equal 40, ended
  end

  def test_every_wait_under_gc_stress
    in_scheduler(2 * SECONDS) do
      r, w = IO.pipe
      queue = Queue.new
      fiber do
        GC.stress = true
        sleep(0.001)
        queue << 1
        w.write("x")
        assert_raises(IndexError) { Fiber.scheduler.timeout_after(0.001, IndexError) { sleep } }
        fiber { sleep(0) }
        assert_equal "127.0.0.1", IPSocket.getaddress("127.0.0.1")
      ensure
        GC.stress = false
      end
      fiber { assert_equal 1, queue.pop }
      fiber { assert r.wait_readable(SECONDS) }
    end
  ensure
    GC.stress = false
  end

  # The fibers go first or the scheduler does; neither may look at the other's memory.
  def test_schedulers_that_were_left_with_parked_fibers_are_collected
    before = ObjectSpace.each_object(NeverBlock::Scheduler).count # other tests' own
    20.times do
      Thread.new do
        scheduler = NeverBlock::Scheduler.new
        10.times { scheduler.fiber { scheduler.kernel_sleep(rand) } }
        10.times { scheduler.fiber { scheduler.block(:never) } }
        2.times do
          scheduler.fiber { IO.pipe.then { |r, _w| scheduler.io_wait(r, IO::READABLE, nil) } }
        end
      end.join
    end
    3.times { GC.start }
    left = ObjectSpace.each_object(NeverBlock::Scheduler).count - before
    assert_operator left, :<, 20
  end

  def test_a_fiber_that_outlives_every_other_reference_keeps_its_scheduler
    parked = Thread.new do
      scheduler = NeverBlock::Scheduler.new
      scheduler.fiber { scheduler.block(:never) }
    end.value
    3.times { GC.start }
    assert_predicate parked, :alive?
  end

  def test_its_size_counts_its_tables
    scheduler = NeverBlock::Scheduler.new
    before = ObjectSpace.memsize_of(scheduler)
    200.times { scheduler.fiber { scheduler.kernel_sleep(0.001) } }
    assert_operator ObjectSpace.memsize_of(scheduler), :>, before + (200 * 16)
    scheduler.run
  end

  def test_ended_waits_leave_nothing
    scheduler = NeverBlock::Scheduler.new
    3.times do
      100.times { scheduler.fiber { scheduler.kernel_sleep(0.001) } }
      scheduler.run
    end
    first = ObjectSpace.memsize_of(scheduler)
    10.times do
      100.times { scheduler.fiber { scheduler.kernel_sleep(0.001) } }
      scheduler.run
    end
    assert_equal first, ObjectSpace.memsize_of(scheduler)
  end
end

require "socket"
