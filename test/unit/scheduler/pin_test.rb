# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "io/wait"
require "socket"
require "timeout"

# Tests Scheduler#pin: the waits of a fiber keep the thread. A second fiber, which gives way to
# others for ever, counts the turns it has. The tests assert that it had none while the first one
# waited. What ends the wait comes from another thread or from the clock.
class SchedulerPinTest < Minitest::Test
  include SchedulerHarness

  def test_a_pinned_sleep_lets_no_other_fiber_run
    assert_keeps_the_thread { sleep(0.01) }
    assert_keeps_the_thread { sleep(0) }
  end

  def test_a_pinned_wait_for_a_descriptor_lets_no_other_fiber_run
    held_from_outside(&:wait_readable)
    held_from_outside { |r| r.wait_readable(0.001) || r.wait_readable }
  end

  def test_a_pinned_read_and_write_let_no_other_fiber_run
    held_from_outside { |r| assert_equal "x", r.read(1) }
    held_from_outside(UNIXSocket.pair) { |r| assert_equal "x", r.readpartial(5) }
  end

  def test_a_pinned_write_to_a_slow_reader_lets_no_other_fiber_run
    in_scheduler do
      r, w = IO.pipe
      me = Thread.current
      beside do
        reader = Thread.new { (Thread.pass until me.stop?) || r.read.bytesize }
        pinned { w.write("x" * 300_000) and w.close }
        assert_equal 300_000, reader.value
      end
    end
  end

  def test_a_pinned_io_select_lets_no_other_fiber_run
    held_from_outside { |r| assert_equal [[r], [], []], IO.select([r]) }
    silent = IO.pipe
    assert_keeps_the_thread { assert_nil(IO.select([silent.first], nil, nil, 0.001)) }
  end

  def test_a_pinned_wait_for_a_process_lets_no_other_fiber_run
    assert_keeps_the_thread { assert_equal 7, Process.wait2(spawn("exit 7")).last.exitstatus }
    assert_keeps_the_thread { assert_equal "8\n", `echo 8` }
  end

  def test_a_pinned_wait_for_any_process_of_a_group_lets_no_other_fiber_run
    assert_keeps_the_thread do
      pid = spawn("exit 9", pgroup: true)
      assert_equal 9, Process.wait2(-pid).last.exitstatus
    end
  end

  def test_a_pinned_question_for_an_address_lets_no_other_fiber_run
    name = "127.#{rand(1..255)}.#{rand(65_536)}" # the cache does not know it: inet_aton(3)
    assert_keeps_the_thread { refute_empty Fiber.scheduler.address_resolve(name) }
  end

  def test_what_became_ready_meanwhile_runs_when_the_pinned_wait_is_over
    order = []
    in_scheduler do
      r, w = IO.pipe
      fiber { r.read(1) and order << :reader }
      fiber { sleep(0.001) and order << :sleeper }
      fiber do
        Fiber.scheduler.pin do
          w.write("x")
          sleep(0.01)
          order << :pinned
        end
      end
    end
    assert_equal :pinned, order.first
    assert_equal %i[pinned reader sleeper], order.sort
  end

  def test_a_mutex_and_a_queue_that_another_fiber_serves_park_the_pinned_fiber
    in_scheduler do
      mutex = Mutex.new
      queue = Queue.new
      gate = Gate.new(1)
      fiber { mutex.synchronize { gate.wait_full } }
      fiber do
        Fiber.scheduler.pin do
          gate.enter
          mutex.synchronize { nil }
          assert_equal 1, queue.pop
        end
      end
      fiber { queue << 1 }
    end
  end

  def test_a_condition_variable_parks_the_pinned_fiber_with_and_without_a_timeout
    [[], [60]].each do |timeout|
      mutex = Mutex.new
      condition = ConditionVariable.new
      gate = Gate.new(1)
      in_scheduler do
        fiber do
          Fiber.scheduler.pin do
            mutex.synchronize { gate.enter and condition.wait(mutex, *timeout) }
          end
        end
        when_full(gate) { mutex.synchronize { condition.signal } }
      end
    end
  end

  def test_pin_false_within_pin_lets_others_run_again
    in_scheduler do
      beside do
        before = @turns
        Fiber.scheduler.pin { Fiber.scheduler.pin(false) { sleep(0) } and pinned { sleep(0.001) } }
        assert_operator @turns, :>, before
      end
    end
  end

  def test_an_exception_or_a_throw_out_of_the_block_ends_the_mode
    in_scheduler do
      scheduler = Fiber.scheduler
      fiber do
        assert_raises(IndexError) { scheduler.pin { scheduler.pin { raise IndexError } } }
        refute_predicate scheduler, :pinned?
        catch(:out) { scheduler.pin { throw :out } }
        refute_predicate scheduler, :pinned?
      end
    end
  end

  def test_pin_gives_the_value_of_its_block_and_pinned_p_is_of_the_current_fiber
    in_scheduler do
      scheduler = Fiber.scheduler
      fiber do
        seen = []
        value = scheduler.pin do
          fiber { seen << scheduler.pinned? }
          seen << scheduler.pinned? << scheduler.pin(false) { scheduler.pinned? }
          seen << scheduler.pinned?
          :value
        end
        assert_equal :value, value
        assert_equal [false, true, false, true], seen
        refute_predicate scheduler, :pinned?
        assert_raises(LocalJumpError) { scheduler.pin }
      end
    end
  end

  def test_other_fibers_wait_as_ever_while_a_fiber_is_in_the_mode
    in_scheduler do
      queue = Queue.new
      gate = Gate.new(2)
      fiber { Fiber.scheduler.pin { queue.pop } }
      2.times { fiber { gate.enter and gate.wait_full } }
      when_full(gate) { queue << 1 }
    end
  end

  def test_a_timeout_interrupts_a_pinned_wait
    silent = IO.pipe
    assert_keeps_the_thread { assert_raises(Timeout::Error) { Timeout.timeout(0.005) { sleep } } }
    assert_keeps_the_thread do
      assert_raises(Timeout::Error) { Timeout.timeout(0.005) { silent.first.read(1) } }
    end
  end

  def test_a_raise_from_another_thread_interrupts_a_pinned_wait
    in_scheduler do
      me = Thread.current
      inside = Queue.new
      fiber do
        other = Thread.new do
          inside.pop
          Thread.pass until me.stop?
          me.raise(IndexError)
        end
        Fiber.scheduler.pin { assert_raises(IndexError) { inside << true and sleep } }
        other.join
      end
    end
  end

  def test_a_signal_handler_runs_during_a_pinned_wait_of_the_main_thread
    script = <<~RUBY
      require "neverblock/scheduler"
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      r, w = IO.pipe
      trap(:USR1) { w.write("x") }
      Fiber.schedule do
        Fiber.scheduler.pin { Process.kill(:USR1, Process.pid) and puts r.read(1) }
      end
    RUBY
    command = [RbConfig.ruby, *$LOAD_PATH.map { |path| "-I#{path}" }, "-W0", "-e", script]
    output = IO.popen(command, &:read)
    assert_equal "x\n", output
  end

  def test_a_fiber_scheduled_in_the_mode_runs_until_it_first_waits
    in_scheduler do
      order = []
      fiber do
        Fiber.scheduler.pin do
          fiber { order << 1 and sleep(0) and order << 3 }
          sleep(0.001)
          order << 2
        end
      end
      fiber do
        sleep(0) until order.size == 3
        assert_equal [1, 2, 3], order
      end
    end
  end

  # Its spawner too waits until it ends or waits in earnest.
  def test_a_fiber_that_pins_itself_from_its_first_moment_keeps_its_spawner_waiting
    in_scheduler do
      order = []
      fiber { Fiber.scheduler.pin { sleep(0.001) and order << 1 } }
      order << 2
      fiber { assert_equal([1, 2], order) }
    end
  end

  private

  # Runs the block pinned, in a fiber beside one that counts its turns. Asserts that the count stood
  # still.
  def assert_keeps_the_thread(&block)
    in_scheduler { beside { pinned(&block) } }
  end

  # The same with what a block of its own needs around the wait; #pinned is to be called in it.
  def pinned
    before = @turns
    value = Fiber.scheduler.pin { yield }
    assert_equal before, @turns
    value
  end

  # Runs the block in a fiber, beside another that counts its turns.
  def beside
    @turns = 0
    ended = false
    fiber do
      until ended
        @turns += 1
        sleep(0)
      end
    end
    fiber do
      sleep(0) until @turns > 1
      yield
    ensure
      ended = true
    end
  end

  # Runs the block pinned with a readable end, which another thread writes to once this one stands
  # still.
  def held_from_outside(ends = IO.pipe)
    in_scheduler do
      r, w = ends
      me = Thread.current
      writer = nil
      beside do
        writer = Thread.new { (Thread.pass until me.stop?) || w.write("x") }
        pinned { yield r }
        writer.join
      end
    end
  end
end
