# frozen_string_literal: true

require_relative "../../support/timeslices"
require "timeout"

# Tests Scheduler#shield, and what Ruby 3.4 does in it: operations on another thread whose result an
# exception would lose.
class SchedulerShieldTest < Minitest::Test
  include Timeslices

  class Own < StandardError; end

  def test_what_is_raised_in_a_shield_is_raised_in_the_wait_after_it
    steps = []
    in_scheduler do
      queue = Queue.new
      waits = fiber do
        steps << Fiber.scheduler.shield { queue.pop }
        sleep
      rescue Own => e
        steps << e.message
      end
      fiber do
        waits.raise(Own, "late")
        queue << :popped
      end
    end
    assert_equal [:popped, "late"], steps
  end

  def test_a_timeout_that_is_over_in_a_shield_ends_its_block_after_it_and_no_other
    steps = []
    in_scheduler do
      fiber do
        Timeout.timeout(0.001) { steps << Fiber.scheduler.shield { sleep(0.01) } and sleep }
      rescue Timeout::Error
        steps << :over
        Timeout.timeout(0.001) { Fiber.scheduler.shield { sleep(0.01) } }
        sleep(0)
        steps << :on_time
      end
    end
    assert_equal [true, :over, :on_time], [!steps[0].nil?, *steps[1..]]
  end

  def test_a_timeout_that_is_over_is_not_raised_where_a_slice_ends_in_a_shield
    steps = []
    in_timeslices do
      shielded = fiber do
        Timeout.timeout(0.001) do
          steps << Fiber.scheduler.shield { computed_when_over }
          inner = Enumerator.new { |all| all << computed_when_over }
          steps << Fiber.scheduler.shield { inner.next }
          sleep
        end
      rescue Timeout::Error
        steps << :over
      end
      fiber { sleep(0) while shielded.alive? }
    end
    assert_equal [true, true, :over], steps
  end

  # An Enumerator whose body goes through a shield block, with an element before its end and one
  # after it.
  def through_a_shield
    Enumerator.new { |out| Fiber.scheduler.shield { out << 1 } && out << 2 }
  end

  # A wait in a fiber that is resumed here.
  def resumed_wait
    Enumerator.new { |out| out << sleep(0.01) }.next
  end

  def test_a_shield_that_another_fiber_ends_later_is_over_for_who_has_left_its_own
    in_scheduler do
      fiber do
        through_a_shield.next # goes on with nobody, and shields nobody else
        all = through_a_shield
        Fiber.scheduler.shield { all.next }
        assert_raises(Own) { Timeout.timeout(0.001, Own) { resumed_wait } }
        all.next
        assert_raises(Own) { Timeout.timeout(0.001, Own) { resumed_wait } }
      end
    end
  end

  def test_a_shield_outlasts_one_that_a_resumed_fiber_has_begun_before
    in_scheduler do
      fiber do
        steps = []
        all = through_a_shield
        all.next
        assert_raises(Own) do
          Timeout.timeout(0.001, Own) do
            Fiber.scheduler.shield { all.next && (steps << resumed_wait) }
            sleep
          end
        end
        assert_equal 1, steps.size
      end
    end
  end

  def test_a_shield_of_a_resumed_fiber_holds_in_those_that_it_resumes
    in_scheduler do
      fiber do
        steps = []
        middle = Enumerator.new do |out|
          Fiber.scheduler.shield { steps << resumed_wait }
          out << sleep
        end
        assert_raises(Own) { Timeout.timeout(0.001, Own) { middle.next } }
        assert_equal 1, steps.size
      end
    end
  end

  # Its slice ends some times, with a limit of a millisecond over.
  def computed_when_over
    over = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.001
    nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > over
    3.times { be_preempted }
    true
  end

  def test_a_shield_is_its_fibers_only_and_ends_with_its_block
    in_scheduler do
      scheduler = Fiber.scheduler
      other = fiber { assert_raises(Own) { sleep } }
      fiber { scheduler.shield { other.raise(Own) } }
      assert_raises(IOError) { scheduler.shield { raise IOError } }
      assert_raises(LocalJumpError) { scheduler.shield }
    end
  end

  # On Ruby 3.4 another thread opens: its descriptor came to nobody.
  def test_a_file_whose_opening_was_cancelled_is_closed
    came = 0
    in_scheduler do
      20.times do
        opens = fiber do
          File.open(__FILE__, &:readline) && sleep
        rescue Own
          came += 1
        end
        fiber { opens.raise(Own) }
      end
    end
    assert_equal 20, came
    assert_empty descriptors_of(__FILE__)
  end

  private

  # What else the process has open may change meanwhile: threads that live as long as the process
  # start when they are first needed.
  def descriptors_of(path)
    Dir.children("/proc/self/fd").select do |number|
      File.readlink("/proc/self/fd/#{number}") == File.realpath(path)
    rescue Errno::ENOENT
      false # that of the folder, or another thread's
    end
  end
end
