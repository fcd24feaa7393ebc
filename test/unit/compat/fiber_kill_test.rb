# frozen_string_literal: true

require_relative "../../support/scheduler_harness"

# Fiber#kill (Ruby 3.3 and later) under our scheduler. The killer goes on.
# The killed fiber ends in its wait, and its ensure blocks run whole.
class FiberKillTest < Minitest::Test
  include SchedulerHarness

  def setup
    skip "Fiber#kill is Ruby 3.3's" unless Fiber.method_defined?(:kill)
    @order = []
  end

  def test_who_kills_goes_on_and_the_killed_fiber_ends
    in_scheduler do
      killed = fiber { note(:not_killed) { sleep } }
      fiber do
        assert_same killed, killed.kill
        @order << :killer
        sleep(0) while killed.alive?
        @order << :dead
      end
    end
    assert_equal %i[killer dead], @order
  end

  def test_ensure_blocks_of_a_killed_fiber_wait_and_end
    reader, writer = IO.pipe
    in_scheduler do
      killed = fiber { ensuring(reader) { sleep } }
      fiber { killed.kill and @order << :killer }
      fiber { sleep(0.002) and writer << "written" }
    end
    assert_equal [:killer, :inner, "written", :outer], @order
  end

  def test_no_rescue_sees_it_nor_anything_after_the_wait
    in_scheduler do
      killed = Fiber.schedule do
        sleep
      rescue Exception => e # rubocop:disable Lint/RescueException -- that is asked here
        @order << e
      else
        @order << :went_on
      end
      fiber { killed.kill }
    end
    assert_empty @order
  end

  def test_many_killers_and_many_killed
    killed = []
    in_scheduler do
      killed = Array.new(300) { Fiber.schedule { sleep } }
      killed.each { |one| fiber { one.kill and @order << one } }
    end
    assert_equal killed, @order
    assert(killed.none?(&:alive?))
  end

  def test_every_kind_of_wait_can_be_killed
    mutex = Mutex.new
    waits = [
      -> { Queue.new.pop },
      -> { IO.pipe.first.read },
      -> { Thread.new { sleep }.join },
      -> { mutex.synchronize { nil } },
      -> { Process.wait(spawn("sleep 60")) },
      -> { mutex.synchronize { ConditionVariable.new.wait(mutex) } },
      -> { IO.select([IO.pipe.first]) }
    ]
    in_scheduler do
      killed = nil
      fiber { mutex.synchronize { sleep(0) while killed.nil? || killed.any?(&:alive?) } }
      killed = waits.map { |wait| Fiber.schedule { note(:not_killed, &wait) } }
      fiber { killed.each { |one| one.kill and @order << :killer } }
    end
    assert_equal [:killer] * waits.size, @order
  end

  def test_a_second_kill_does_not_cut_the_ensure_blocks_short
    reader, writer = IO.pipe
    in_scheduler do
      killed = fiber { ensuring(reader) { sleep } }
      fiber do
        killed.kill
        sleep(0) until @order.include?(:inner)
        refute killed.kill
        writer << "written"
      end
    end
    assert_equal [:inner, "written", :outer], @order
  end

  def test_a_fiber_that_was_given_the_mutex_gives_it_on
    mutex = Mutex.new
    in_scheduler do
      killed = nil
      fiber do
        mutex.synchronize { sleep(0) until killed }
        killed.kill
      end
      killed = Fiber.schedule { mutex.synchronize { @order << :given } && sleep }
      fiber { mutex.synchronize { @order << :next } }
    end
    assert_equal %i[given next], @order
    refute_predicate mutex, :locked?
  end

  def test_a_fiber_that_kills_itself_ends_with_its_ensure_blocks
    reader, writer = IO.pipe
    in_scheduler do
      fiber { ensuring(reader) { Fiber.current.kill } }
      fiber { writer << "written" }
    end
    assert_equal [:inner, "written", :outer], @order
  end

  def test_a_fiber_the_scheduler_has_not_started_is_killed_too
    in_scheduler do
      inner = nil
      fiber do
        inner = Fiber.new(blocking: false) { note(:not_killed) { sleep } }
        inner.resume
        @order << :outer
      end
      fiber do
        inner.kill
        @order << :killer
        sleep(0) while inner.alive?
        @order << :dead
      end
    end
    assert_equal %i[dead killer], @order.sort - [:outer]
  end

  def test_such_a_fiber_too_leaves_a_wait_for_a_condition_with_its_lock
    mutex = Mutex.new
    in_scheduler do
      inner = nil
      fiber do
        inner = Fiber.new(blocking: false) { mutex.synchronize { sleep_and_note_owner(mutex) } }
        inner.resume
      end
      fiber do
        mutex.synchronize do
          Fiber.scheduler.unblock(:test, inner)
          sleep(0)
          inner.kill
          sleep(0)
        end
        sleep(0) while inner.alive?
        refute_predicate mutex, :locked?
      end
    end
    assert_equal [true], @order
  end

  def test_killing_who_has_resumed_a_fiber_that_waits_comes_back
    in_scheduler do
      outer = Fiber.schedule { note(:not_killed) { Fiber.new(blocking: false) { sleep }.resume } }
      fiber { outer.kill and @order << :killer }
    end
    assert_equal [:killer], @order
  end

  def test_what_is_not_waiting_is_killed_as_ever
    in_scheduler do
      fiber do
        made = Fiber.new { nil }
        assert_same made, made.kill
        refute_predicate made, :alive?
        yielded = Fiber.new { note(:not_killed) { Fiber.yield } }
        yielded.resume
        assert_same yielded, yielded.kill
        refute_predicate yielded, :alive?
        assert_same made, made.kill unless RUBY_VERSION >= "3.3"
      end
    end
    assert_empty @order
  end

  def test_without_a_scheduler_it_is_rubys
    killed = Fiber.new { note(:not_killed) { Fiber.yield } }
    killed.resume
    assert_same killed, killed.kill
    refute killed.kill
    assert_empty @order
  end

  private

  def note(what)
    yield
    @order << what
  end

  def sleep_and_note_owner(mutex)
    mutex.sleep
  ensure
    @order << mutex.owned?
  end

  # Two ensure blocks, the first of which waits for what is written to the pipe.
  def ensuring(reader)
    begin
      yield
    ensure
      @order << :inner
      @order << reader.readpartial(100)
    end
  ensure
    @order << :outer
  end
end
