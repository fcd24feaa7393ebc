# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "io/wait"

# Tests that a forked child does not keep the descriptors of the parent's schedulers: pollers,
# wakes, and those by which processes are waited for.
class SchedulerForkDescriptorsTest < Minitest::Test
  include SchedulerHarness

  OURS = /eventpoll|eventfd|pidfd/

  def setup
    skip "there is no /proc/self/fd" unless File.directory?("/proc/self/fd")
    @sleeper = spawn("sleep 600", out: File::NULL)
    GC.start # nothing that other tests have left is closed while descriptors are counted
    GC.disable
    @before = ours
    @rubys = in_child { ours } # its timer thread's
  end

  def teardown
    GC.enable
    Process.kill(:KILL, @sleeper)
    Process.wait(@sleeper)
  end

  def test_a_child_of_a_fiber_has_none_of_them
    beside_waits do
      assert_operator ours.size, :>=, @before.size + 5 # two pollers, two wakes, a process
      assert_equal @rubys, in_child { ours }
    end
  end

  def test_a_child_of_a_plain_thread_has_none_of_them
    beside_waits { assert_equal @rubys, Thread.new { in_child { ours } }.value }
  end

  def test_the_parents_own_stay
    beside_waits do
      before = ours
      in_child { nil }
      assert_equal before, ours
    end
  end

  def test_a_loop_in_the_child_opens_and_closes_its_own
    beside_waits do
      left = in_child do
        Thread.new do
          Fiber.set_scheduler(NeverBlock::Scheduler.new)
          Fiber.schedule { Process.wait(spawn("exit 3")) }
          Fiber.schedule { IO.pipe.then { |r, w| Fiber.schedule { w.write("x") } && r.read(1) } }
        end.join
        ours
      end
      assert_equal @rubys, left
    end
  end

  private

  # Runs the block in a fiber, while others wait for a process and for a descriptor, and another
  # thread's scheduler waits for one too.
  def beside_waits
    elsewhere, stop = IO.pipe
    waits = Queue.new
    other = Thread.new do
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      Fiber.schedule { waits << true && elsewhere.read(1) }
    end
    in_scheduler do
      waiting = [
        fiber { wait_until_interrupted { Process.wait(@sleeper) } },
        fiber { wait_until_interrupted { IO.pipe.then { |r, _w| r.wait_readable(60) } } }
      ]
      fiber do
        waits.pop && (Thread.pass until other.stop?)
        yield
      ensure
        stop.write("x")
        waiting.each { |one| Fiber.scheduler.fiber_interrupt(one, IndexError.new) }
      end
    end
    other.join(SECONDS)
  end

  def wait_until_interrupted
    yield
  rescue IndexError
    nil
  end

  # @return [Array<String>] what a forked child's block returns
  def in_child
    r, w = IO.pipe
    pid = fork do
      w.write(Marshal.dump(yield))
      w.close
      exit!(0)
    end
    w.close
    Marshal.load(r.read) # rubocop:disable Security/MarshalLoad -- our own child's
  ensure
    Process.wait(pid)
  end

  # @return [Array<String>] the kinds of this process's descriptors, of those that schedulers open
  def ours
    Dir.children("/proc/self/fd").filter_map do |fd|
      target = File.readlink("/proc/self/fd/#{fd}")
      target if target.match?(OURS)
    rescue Errno::ENOENT
      nil
    end.sort
  end
end
