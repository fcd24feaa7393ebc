# frozen_string_literal: true

require_relative "../../support/timeslices"
require "neverblock"
require "timeout"

# What Thread.handle_interrupt holds back in the waits of a fiber.
class HandleInterruptCompatTest < Minitest::Test
  include Timeslices

  class Own < StandardError; end

  # In a fiber without time slices, and in one that has them.
  def in_each(&block)
    in_scheduler { fiber(&block) }
    in_timeslices { fiber(&block) }
  end

  def test_a_timeout_that_is_over_is_raised_where_its_class_is_let_in
    in_each do
      steps = []
      assert_raises(Own) do
        Thread.handle_interrupt(Own => :never) do
          Timeout.timeout(0.001, Own) do
            steps << sleep(0.01)
            Thread.handle_interrupt(Own => :on_blocking) { steps << sleep }
          end
        end
      end
      assert_equal 1, steps.size
    end
  end

  def test_a_mask_of_a_module_above_the_class_holds_it_back
    in_each do
      ended = false
      Timeout.timeout(0.001, Own) do
        Thread.handle_interrupt(StandardError => :never) { ended = sleep(0.01) }
      end
      assert ended
    end
  end

  def test_the_innermost_mask_that_names_an_ancestor_decides
    in_each do
      assert_raises(Own) do
        Thread.handle_interrupt(Own => :never) do
          Thread.handle_interrupt(StandardError => :immediate, IOError => :never) do
            Timeout.timeout(0.001, Own) { sleep }
          end
        end
      end
    end
  end

  def test_other_classes_come
    in_each do
      assert_raises(Own) do
        Thread.handle_interrupt(IOError => :never) { Timeout.timeout(0.001, Own) { sleep } }
      end
      assert_raises(NB::DeadlineExceeded) do
        Thread.handle_interrupt(Own => :never) { NB.deadline(0.001) { sleep } }
      end
    end
  end

  def test_a_deadline_is_held_back_by_its_class
    in_each do
      ended = false
      assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.001) do
          Thread.handle_interrupt(NB::DeadlineExceeded => :never) { ended = sleep(0.01) }
          sleep
        end
      end
      assert ended
    end
  end

  def test_a_timeout_without_a_class_is_held_back_as_in_a_thread
    kind = Timeout.const_defined?(:ExitException) ? Timeout::ExitException : Timeout::Error
    in_each do
      ended = false
      assert_raises(Timeout::Error) do
        Timeout.timeout(0.001) do
          Thread.handle_interrupt(kind => :never) { ended = sleep(0.01) }
          sleep
        end
      end
      assert ended
    end
  end

  def test_a_mask_is_of_its_fiber
    in_scheduler do
      queue = Thread::Queue.new
      fiber { Thread.handle_interrupt(Own => :never) { queue.pop } }
      fiber do
        assert_raises(Own) { Timeout.timeout(0.001, Own) { sleep } }
        queue << true
      end
    end
  end
end
