# frozen_string_literal: true

require_relative "../../support/scheduler_harness"

# Fiber.new(blocking: true) in a fiber of the loop.
class CompatFiberNewTest < Minitest::Test
  include SchedulerHarness

  def test_what_waits_in_it_lets_others_run_and_resume_returns_as_on_a_thread
    orders = [[], []]
    gate = Gate.new(2)
    in_scheduler { orders.each { |order| fiber { talk(order, gate) } } }
    assert_equal [[2, :resumed, :ended]] * 2, orders
  end

  def test_it_tells_that_its_waits_park
    in_scheduler do
      fiber do
        made = Fiber.new(blocking: true) do
          [Fiber.current.blocking?, !Fiber.current_scheduler.nil?]
        end
        assert_equal [false, true], made.resume
      end
    end
  end

  def test_outside_of_a_loop_and_in_a_blocking_block_it_is_what_was_asked_for
    assert_predicate Fiber.new(blocking: true) { nil }, :blocking?
    refute_predicate Fiber.new { nil }, :blocking?
    in_scheduler do
      fiber do
        NeverBlock::Compat.blocking do
          assert_predicate Fiber.new(blocking: true) { nil }, :blocking?
        end
      end
    end
  end

  def test_storage_and_subclasses_are_as_ever
    skip "Fiber storage is Ruby 3.2's" unless Fiber.method_defined?(:storage)
    in_scheduler do
      fiber do
        subclass = Class.new(Fiber)
        made = subclass.new(blocking: true, storage: { mark: 1 }) { Fiber[:mark] }
        assert_instance_of subclass, made
        assert_equal 1, made.resume
        Fiber[:mark] = 2
        assert_equal 2, Fiber.new(blocking: true) { Fiber[:mark] }.resume
      end
    end
  end

  def test_arguments_that_ruby_refuses_are_refused
    in_scheduler do
      fiber do
        assert_raises(ArgumentError) { Fiber.new(blocking: true) }
        assert_raises(ArgumentError) { Fiber.new(nothing: 1) { nil } }
      end
    end
  end

  def test_a_nonblocking_fiber_made_in_one_parks_too
    gate = Gate.new(2)
    in_scheduler do
      2.times do
        fiber do
          Fiber.new(blocking: true) { Fiber.new { gate.enter and gate.wait_full }.resume }.resume
        end
      end
    end
    assert_predicate gate, :full?
  end

  private

  def talk(order, gate)
    inner = Fiber.new(blocking: true) do |given|
      gate.enter
      gate.wait_full
      order << Fiber.yield(given + 1)
      :ended
    end
    order << inner.resume(1) << inner.resume(:resumed)
  end
end
