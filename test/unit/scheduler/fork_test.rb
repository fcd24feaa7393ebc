# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "io/wait"
require "monitor"
require "open3"
require "rbconfig"
require "socket"

# Tests a process forked in a fiber, in a thread beside the loop, and by Process.daemon's way round
# Process._fork.
class SchedulerForkTest < Minitest::Test
  include SchedulerHarness

  def test_a_child_forked_in_a_fiber_has_no_scheduler_and_runs_none_of_the_parents_fibers
    r, w = IO.pipe
    written, writing = IO.pipe
    in_scheduler do
      fiber { sleep(0.01) and w.write("parent") and writing.close }
      fiber do
        pid = fork do
          writing.close
          written.read
          sleep(0.03)
          w.write(Fiber.scheduler.nil? ? "child," : "scheduler,")
        end
        assert_predicate Process.wait2(pid).last, :success?
      end
    end
    w.close
    assert_equal "parentchild,", r.read
  end

  def test_a_child_that_falls_out_of_its_fiber_ends_without_the_parents_work
    r, w = IO.pipe
    in_scheduler do
      fiber { sleep(0.05) and w.write("p") }
      fiber { (pid = fork) ? Process.wait(pid) : w.write("c") }
      fiber { sleep(0.05) and w.write("p") }
    end
    w.close
    assert_equal %w[c p p], r.read.chars.sort # whoever comes first
  end

  # As a child has what its parent's other threads had locked.
  def test_what_other_fibers_have_locked_is_free_in_a_child
    locks = [Mutex.new, Monitor.new]
    in_scheduler do
      fiber { locks.first.synchronize { sleep(0.2) } }
      fiber { locks.last.synchronize { sleep(0.2) } }
      fiber { locks.first.synchronize { nil } }
      fiber do
        own = Mutex.new.lock
        pid = fork do
          locks.each { |lock| lock.synchronize { nil } }
          exit!(own.owned? ? 6 : 7)
        end
        assert_equal 6, Process.wait2(pid).last.exitstatus
      end
    end
  end

  # ActiveRecord gives up its connections there, behind the lock of its pool.
  def test_what_a_library_does_in_a_child_comes_after_it_whichever_was_loaded_first
    program = <<~RUBY
      LOCK = Monitor.new
      forked = Module.new do
        def _fork
          super.tap { |pid| LOCK.synchronize { nil } if pid.zero? }
        end
      end
      Process.singleton_class.prepend(forked)
      require "neverblock/scheduler"
      Process.singleton_class.prepend(forked.dup)
      Thread.new do
        Fiber.set_scheduler(NeverBlock::Scheduler.new)
        Fiber.schedule { LOCK.synchronize { sleep(0.2) } }
        Fiber.schedule { print Process.wait2(fork { exit!(6) }).last.exitstatus }
        Fiber.scheduler.run
      end.join
    RUBY
    out, status = Open3.capture2e(RbConfig.ruby, "-rmonitor",
                                  "-I#{File.expand_path("../../../lib", __dir__)}", "-e", program)

    assert_equal "6", out
    assert_predicate status, :success?
  end

  def test_a_child_may_have_a_scheduler_of_its_own
    in_scheduler do
      fiber do
        pid = fork do
          done = 0
          Thread.new do
            Fiber.set_scheduler(NeverBlock::Scheduler.new)
            r, w = IO.pipe
            Fiber.schedule { done += 1 if r.read(1) == "x" }
            Fiber.schedule { sleep(0.001) and w.write("x") and done += 1 }
            Fiber.schedule { done += 1 if Addrinfo.getaddrinfo("localhost", 80).any? }
          end.join(SECONDS)
          exit!(done)
        end
        assert_equal 3, Process.wait2(pid).last.exitstatus
      end
    end
  end

  # The registrations of an epoll belong to both processes: a child that removed its copies would
  # silence the parent.
  def test_the_parents_descriptors_stay_watched_after_a_child_has_ended
    r, w = IO.pipe
    in_scheduler do
      fiber { assert_equal "x", r.read(1) }
      fiber do
        pid = fork { r.close }
        Process.wait(pid)
        w.write("x")
      end
    end
  end

  def test_a_fork_in_another_thread_does_not_disturb_the_loop
    got = Queue.new
    started = Queue.new
    forker = Thread.new { started.pop and got << Process.wait2(fork { exit!(5) }).last.exitstatus }
    in_scheduler { fiber { started << true and assert_equal(5, got.pop) } }
    forker.join(SECONDS)
  end

  # fork(2) by other means than Process._fork leaves the scheduler set: the fiber goes on alone in
  # the child.
  def test_a_fiber_that_was_forked_behind_rubys_back_waits_alone_in_the_child
    script = <<~RUBY
      require "neverblock/scheduler"
      Thread.new do
        Fiber.set_scheduler(NeverBlock::Scheduler.new)
        Fiber.schedule { sleep(0.2); puts "parent's" }
        Fiber.schedule do
          Process.daemon(true, true)
          sleep(0.01)
          IO.pipe.then { |r, w| Fiber.schedule { w.write("x") }; r.read(1) }
          puts "child's"
        end
      end.join
    RUBY
    command = [RbConfig.ruby, *$LOAD_PATH.map { |path| "-I#{path}" }, "-W0", "-e", script]
    output = IO.popen(command, &:read)
    assert_equal "child's\n", output
  end

  def test_exec_and_popen_work_in_a_fiber
    in_scheduler { fiber { assert_equal "5\n", IO.popen(%w[echo 5], &:read) } }
    in_scheduler { fiber { assert_equal "7", IO.popen("-") { |io| io ? io.read : print(7) } } }
  end
end
