# frozen_string_literal: true

require_relative "../../support/scheduler_harness"

# Scheduler#run and #close in a fiber of the loop: the loop runs already, and goes on.
class SchedulerChildrenTest < Minitest::Test
  include SchedulerHarness

  %i[run close].each do |verb|
    define_method("test_#{verb}_in_a_fiber_waits_for_the_fibers_that_it_has_scheduled") do
      order = []
      in_scheduler do
        fiber do
          2.times { |index| fiber { sleep(0.001 * (index + 1)) and order << index } }
          Fiber.scheduler.public_send(verb)
          order << :run
        end
      end
      assert_equal [0, 1, :run], order
    end

    define_method("test_#{verb}_in_a_fiber_without_children_" \
                  "lets_the_others_run_once_and_returns") do
      order = []
      gate = Gate.new(2)
      in_scheduler do
        fiber do
          gate.enter
          2.times { Fiber.scheduler.public_send(verb) }
          order << :run
          gate.enter
        end
        when_full(gate) { order << :other }
      end
      assert_equal %i[run other], order
    end
  end

  def test_the_loop_of_a_scheduler_that_was_closed_in_a_fiber_goes_on
    reader, writer = IO.pipe
    got = nil
    in_scheduler do
      fiber { got = reader.read(1) }
      fiber do
        Fiber.scheduler.close
        writer << "x"
      end
    end
    assert_equal "x", got
  end

  def test_those_of_other_fibers_are_not_waited_for
    order = []
    gate = Gate.new(1)
    in_scheduler do
      fiber { when_full(gate) { order << :others } }
      fiber do
        Fiber.scheduler.run
        order << :run
        gate.enter
      end
    end
    assert_equal %i[run others], order
  end

  def test_a_child_that_fails_or_is_raised_in_has_ended
    ended = false
    capture_io do
      in_scheduler do
        fiber do
          Fiber.schedule { sleep(0.001) and raise "it fails" }
          Fiber.schedule { sleep }.raise(ArgumentError, "from outside")
          Fiber.scheduler.run
          ended = true
        end
      end
    end
    assert ended
  end

  def test_in_an_enumerator_of_a_fiber_it_waits_for_the_fibers_children
    order = []
    in_scheduler do
      fiber do
        fiber { sleep(0.001) and order << :child }
        Enumerator.new { |out| out << Fiber.scheduler.run }.next
        order << :run
      end
    end
    assert_equal %i[child run], order
  end

  def test_who_waits_for_children_can_be_ended
    never = Thread::Queue.new
    in_scheduler do
      fiber do
        fiber { never.pop }
        assert_raises(Timeout::Error) { Timeout.timeout(0.01) { Fiber.scheduler.run } }
        never << :over
      end
    end
  end
end
