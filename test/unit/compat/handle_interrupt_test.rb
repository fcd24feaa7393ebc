# frozen_string_literal: true

require_relative "../../support/timeslices"
require "neverblock"
require "timeout"

# What Thread.handle_interrupt holds back in the waits of a fiber, and raises where it ends.
class HandleInterruptCompatTest < Minitest::Test
  include Timeslices

  class Own < StandardError; end

  # What Timeout raises in a thread.
  TIMEOUT = Timeout.const_defined?(:ExitException) ? Timeout::ExitException : Timeout::Error

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
      assert_raises(Own) do
        Timeout.timeout(0.001, Own) do
          Thread.handle_interrupt(StandardError => :never) { ended = sleep(0.01) }
        end
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

  # In a fiber with time slices, of which none ends in the block.
  def test_other_classes_end_a_computation
    in_timeslices do
      fiber do
        masks = [{ ArgumentError => :never }, { IOError => :on_blocking }, { Own => :immediate }]
        masks.each do |it|
          assert_raises(Own) { Timeout.timeout(0.001, Own) { compute_masked(it) } }
        end
        assert_raises(Own) do
          Thread.handle_interrupt(ArgumentError => :never) do
            Timeout.timeout(0.001, Own) { compute_masked({ IOError => :never }) }
          end
        end
        assert be_preempted
      end
    end
  end

  def compute_masked(mask)
    Thread.handle_interrupt(mask) { nil while true }
  end

  def test_on_blocking_lets_a_wait_end_and_no_computation
    in_timeslices do
      fiber do
        steps = []
        assert_raises(Own) do
          Thread.handle_interrupt(Own => :on_blocking) do
            Timeout.timeout(0.001, Own) do
              steps << compute_beyond(0.01)
              sleep
            end
          end
        end
        assert_equal [true], steps
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
    in_each do
      ended = false
      assert_raises(Timeout::Error) do
        Timeout.timeout(0.001) do
          Thread.handle_interrupt(TIMEOUT => :never) { ended = sleep(0.01) }
          sleep
        end
      end
      assert ended
    end
  end

  # Each is [what is raised, a mask, a block that is given one, which a limit has]
  def limits
    [[Timeout::Error, TIMEOUT, ->(&block) { Timeout.timeout(0.001, &block) }],
     [Timeout::Error, Object, ->(&block) { Timeout.timeout(0.001, &block) }],
     [Own, Own, ->(&block) { Timeout.timeout(0.001, Own, &block) }],
     [NB::DeadlineExceeded, NB::DeadlineExceeded, ->(&block) { NB.deadline(0.001, &block) }]]
  end

  def test_what_was_held_back_is_raised_at_the_end_though_no_wait_follows
    in_each do
      limits.each do |raised, kind, limited|
        steps = []
        assert_raises(raised) do
          limited.call do
            Thread.handle_interrupt(kind => :never) { steps << sleep(0.01) }
            steps << :went_on
          end
        end
        assert_equal 1, steps.size
      end
    end
  end

  def test_an_inner_block_that_lets_it_in_is_not_begun
    in_each do
      limits.each do |raised, kind, limited|
        steps = []
        assert_raises(raised) do
          limited.call do
            Thread.handle_interrupt(kind => :never) do
              sleep(0.01)
              Thread.handle_interrupt(kind => :immediate) { steps << :begun }
            ensure
              sleep(0.001)
              steps << :ensured
            end
          end
        end
        assert_equal [:ensured], steps
      end
    end
  end

  # Asks for the end of a slice meanwhile.
  def compute_beyond(seconds)
    over = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    Fiber.scheduler.end_timeslice until Process.clock_gettime(Process::CLOCK_MONOTONIC) > over
    true
  end

  # The deadline itself is over a little later than what tells of it.
  def compute_beyond_the_deadline
    nil until NB.deadline.zero?
    compute_some_ms
  end

  def compute_some_ms
    over = NeverBlock::Deadline.now + 0.01
    nil until NeverBlock::Deadline.now > over
  end

  def test_a_computation_in_its_block_is_late_at_its_end
    in_each do
      %i[never on_blocking].each do |timing|
        steps = []
        assert_raises(NB::DeadlineExceeded) do
          NB.deadline(0.001) do
            Thread.handle_interrupt(Object => timing) { steps << compute_beyond_the_deadline }
            steps << :went_on
          end
        end
        assert_equal 1, steps.size
      end
    end
  end

  def test_the_outermost_block_that_holds_it_back_decides
    in_each do
      steps = []
      assert_raises(Own) do
        Timeout.timeout(0.001, Own) do
          Thread.handle_interrupt(Own => :never) do
            Thread.handle_interrupt(Own => :never) { sleep(0.01) }
            Thread.handle_interrupt(IOError => :immediate) { steps << :held }
          end
          steps << :went_on
        end
      end
      assert_equal [:held], steps
    end
  end

  def test_it_is_raised_once_and_in_its_block_only
    in_each do
      steps = []
      Timeout.timeout(0.001, Own) do
        Thread.handle_interrupt(Own => :never) { sleep(0.01) }
      rescue Own
        Thread.handle_interrupt(Own => :never) { steps << :rescued }
        Thread.handle_interrupt(Own => :immediate) { sleep(0.001) }
      end
      Thread.handle_interrupt(Own => :never) { Timeout.timeout(0.001, Own) { sleep(0.01) } }
      sleep(0)
      assert_equal [:rescued], steps
    end
  end

  # On a thread a `break` does not lose it either.
  def test_it_is_raised_however_the_block_is_left
    leave = -> { raise IOError, "first" }
    in_each do
      error = assert_raises(Own) do
        Timeout.timeout(0.001, Own) do
          Thread.handle_interrupt(Own => :never) { sleep(0.01) && leave.call }
        end
      end
      assert_equal "first", error.cause&.message
      thrown = assert_raises(Own) do
        Timeout.timeout(0.001, Own) do
          catch(:out) { Thread.handle_interrupt(Own => :never) { sleep(0.01) && throw(:out) } }
        end
      end
      broken = assert_raises(Own) do
        Timeout.timeout(0.001, Own) do
          Thread.handle_interrupt(Own => :never) { break sleep(0.01) }
        end
      end
      assert_equal [nil, nil], [thrown.cause, broken.cause]
    end
  end

  def test_blocks_without_a_limit_that_is_over_are_left_as_ever
    in_each do
      left = NB.deadline(60) do
        [returned_from_a_mask,
         catch(:out) { Thread.handle_interrupt(Own => :immediate) { throw :out, 2 } },
         Thread.handle_interrupt(Own => :on_blocking) { 3 }]
      end
      assert_equal [1, 2, 3], left
      assert_raises(IOError) { Thread.handle_interrupt(Own => :never) { raise IOError } }
    end
  end

  def returned_from_a_mask
    Thread.handle_interrupt(Own => :never) { return 1 }
    2
  end

  def test_a_shield_is_not_ended_by_a_mask_in_it
    in_each do
      steps = []
      assert_raises(Own) do
        Timeout.timeout(0.001, Own) do
          Fiber.scheduler.shield do
            Thread.handle_interrupt(Own => :never) { sleep(0.01) }
            steps << :shielded
          end
          sleep
        end
      end
      assert_equal [:shielded], steps
    end
  end

  def test_an_applications_shield_is_not_opened_by_a_mask_in_it
    in_each do
      steps = []
      assert_raises(Own) do
        Timeout.timeout(0.001, Own) do
          Fiber.scheduler.shield do
            Thread.handle_interrupt(Exception => :never) do
              Thread.handle_interrupt(Exception => :immediate) { steps << sleep(0.01) }
            end
          end
          sleep
        end
      end
      assert_equal 1, steps.size
    end
  end

  def test_one_class_is_let_in_where_all_are_held_back
    in_each do
      steps = []
      assert_raises(Own) do
        Timeout.timeout(0.001, Own) do
          Thread.handle_interrupt(Object => :never) do
            steps << sleep(0.01)
            Thread.handle_interrupt(IOError => :immediate) { steps << sleep(0.001) }
            Thread.handle_interrupt(Own => :on_blocking) { steps << :computed and sleep }
          end
        end
      end
      assert_equal 3, steps.size
    end
  end

  def test_a_mask_holds_in_the_fibers_that_are_resumed_in_it
    in_each do
      [Own, Object].each do |kind|
        steps = []
        assert_raises(Own) do
          Timeout.timeout(0.001, Own) do
            Thread.handle_interrupt(kind => :never) do
              inner = Enumerator.new do |out|
                Thread.handle_interrupt(IOError => :never) { out << sleep(0.01) }
              end
              steps << inner.next
            end
          end
        end
        assert_equal 1, steps.size
      end
    end
  end

  def test_what_a_resumed_fiber_holds_back_goes_to_who_has_resumed_it
    in_each do
      steps = []
      assert_raises(Own) do
        Timeout.timeout(0.001, Own) do
          inner = Enumerator.new do |out|
            out << Thread.handle_interrupt(Own => :never) { steps << sleep(0.01) }
          end
          steps << inner.next
        end
      end
      assert_equal 1, steps.size
    end
  end

  # An Enumerator that has given its first element, in a mask, and goes on in it with the body.
  def stepped_in_a_mask(kind, &body)
    inner = Enumerator.new do |out|
      Thread.handle_interrupt(kind => :never) { (out << true) && body.call }
      out << true
    end
    inner.next
    inner
  end

  def test_a_limit_is_raised_where_a_computation_goes_on_beside_a_fiber_left_in_a_mask
    in_timeslices do
      fiber do
        sleep(0)
        inner = stepped_in_a_mask(Own) { nil }
        assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { be_preempted while true } }
        assert inner.next
      end
    end
  end

  def test_nothing_is_raised_in_a_mask_of_a_fiber_that_is_gone_on_with
    in_timeslices do
      fiber do
        sleep(0)
        steps = []
        inner = stepped_in_a_mask(NB::DeadlineExceeded) do
          steps << compute_some_ms << stays? << sleep(0.001).zero?
        end
        assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { inner.next } }
        assert_equal [nil, true, true, true], steps << left?
      end
    end
  end

  def test_thread_pending_interrupt_tells_of_it
    in_each do
      limits.each do |raised, kind, limited|
        told = []
        assert_raises(raised) do
          limited.call do
            Thread.handle_interrupt(kind => :never) do
              told << Thread.pending_interrupt?
              sleep(0.01)
              told << Thread.pending_interrupt? << Thread.pending_interrupt?(kind)
              told << Thread.pending_interrupt?(IOError)
            end
          end
        end
        assert_equal [false, true, true, false, false], told << Thread.pending_interrupt?
      end
    end
  end

  # It changes several things at once, and is no mask of the application's.
  def test_queue_close_is_no_place_where_a_limit_raises
    in_scheduler do
      fiber { assert_equal :closed, NB.deadline(0) { Thread::Queue.new.close && :closed } }
    end
  end

  def test_the_end_of_a_fiber_is_not_replaced
    skip "Fiber#kill is of Ruby 3.3" unless Fiber.method_defined?(:kill)
    steps = []
    in_each do
      Timeout.timeout(0.001, Own) do
        Thread.handle_interrupt(Own => :never) { sleep(0.01) && Fiber.current.kill }
      rescue Own
        steps << :replaced
      end
    end
    assert_empty steps
  end

  def test_the_end_of_a_thread_is_not_replaced
    steps = []
    Thread.new do
      in_scheduler_here do
        Timeout.timeout(0.001, Own) do
          Thread.handle_interrupt(Own => :never) { sleep(0.01) && Thread.current.kill }
        rescue Own
          steps << :replaced
        end
      end
    end.join
    assert_empty steps
  end

  def in_scheduler_here(&block)
    Fiber.set_scheduler(NeverBlock::Scheduler.new)
    Fiber.schedule(&block)
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
