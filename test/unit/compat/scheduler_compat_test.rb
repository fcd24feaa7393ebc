# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "neverblock/compat/tcp_fast_fallback"
require "socket"
require "tmpdir"

# One test for each file of compat/: what it mends, seen from an application.
class CompatTest < Minitest::Test
  include SchedulerHarness

  def test_thread_join_with_a_limit_returns_nil_at_the_limit
    queue = Queue.new
    thread = Thread.new { queue.pop }
    in_scheduler do
      fiber do
        assert_nil thread.join(0.005)
        assert_nil thread.join(0)
        queue << true
        assert_same thread, thread.join(SECONDS)
        assert_same thread, thread.join(0)
      end
    end
  end

  def test_thread_join_with_a_limit_raises_what_the_thread_raised
    in_scheduler do
      fiber do
        thread = Thread.new do
          Thread.current.report_on_exception = false
          sleep(0.005)
          raise IndexError
        end
        assert_raises(IndexError) { thread.join(SECONDS) }
      end
    end
  end

  def test_one_file_required_by_many_fibers_is_loaded_once
    Dir.mktmpdir do |dir|
      path = File.join(dir, "waits.rb")
      File.write(path, "sleep(0.005); ($nb_loads ||= []) << 1; sleep(0.001)")
      loaded = []
      in_scheduler { 5.times { fiber { loaded << require(path) } } }
      assert_equal [true, false, false, false, false], loaded
      assert_equal [1], $nb_loads
    end
  end

  def test_a_constant_autoloaded_from_many_fibers_is_there_in_all
    Dir.mktmpdir do |dir|
      path = File.join(dir, "autoloaded.rb")
      File.write(path, "sleep(0.005); class CompatTest; AUTOLOADED = 5; end")
      CompatTest.autoload(:AUTOLOADED, path)
      seen = []
      in_scheduler { 5.times { fiber { seen << CompatTest::AUTOLOADED } } }
      assert_equal [5] * 5, seen
    end
  end

  def test_a_file_that_raises_while_it_is_loading_raises_in_the_fiber
    Dir.mktmpdir do |dir|
      path = File.join(dir, "raises.rb")
      File.write(path, "raise IndexError")
      in_scheduler { fiber { assert_raises(IndexError) { load(path) } } }
    end
  end

  def test_fiber_raise_at_a_fiber_that_waits_comes_back_to_who_raised
    order = []
    in_scheduler do
      waits = [-> { sleep }, -> { Queue.new.pop }, -> { IO.pipe.then { |r, _w| r.read } }]
      fibers = waits.map do |wait|
        fiber { order << assert_raises(IndexError) { wait.call }.message }
      end
      fiber { fibers.each { |f| f.raise(IndexError, "told") } and order << :raised }
    end
    assert_equal [:raised, "told", "told", "told"], order
  end

  def test_fiber_raise_at_a_fiber_that_was_woken_waits_until_it_has_had_what_it_was_woken_for
    queue = Queue.new
    order = []
    in_scheduler do
      popper = fiber { order << queue.pop and assert_raises(RuntimeError) { sleep } and order << :raised }
      fiber { queue << :popped and popper.raise }
    end
    assert_equal %i[popped raised], order
  end

  def test_fiber_raise_elsewhere_is_as_ever
    in_scheduler do
      fiber do
        own = Fiber.new { assert_raises(IndexError) { Fiber.yield } and :done }
        own.resume
        assert_equal :done, own.raise(IndexError)
        assert_raises(FiberError) { own.raise(IndexError) }
      end
    end
  end

  def test_select_stays_private_and_method_missing_reachable
    object = Class.new { def method_missing(name, *) = name }.new
    assert_equal :select, object.select
  end

  def test_fast_fallback_is_off_where_it_exists
    there = Socket.respond_to?(:tcp_fast_fallback=)
    assert_equal there, NeverBlock::Compat::TcpFastFallback.apply
    refute Socket.tcp_fast_fallback if there
  end

  def test_a_child_of_the_main_thread_without_a_scheduler_is_left_alone
    pid = fork { exit!(Fiber.scheduler.nil? ? 0 : 1) }
    assert_predicate Process.wait2(pid).last, :success?
  end

  def test_close_of_what_nobody_waits_for_is_as_ever
    r, w = IO.pipe
    assert_nil r.close
    assert_nil r.close
    in_scheduler { fiber { assert_nil w.close } }
    assert_raises(IOError) { IO.allocate.close }
  end
end
