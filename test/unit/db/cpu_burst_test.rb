# frozen_string_literal: true

require_relative "../../support/timeslices"
require "neverblock/db/cpu_burst"

# Code that C code hands rows to gives way between two rows. Where there are slices it gives way as
# code that computes does, else by a wait.
class CpuBurstTest < Minitest::Test
  include Timeslices

  LONG_S = 3600

  def test_without_slices_it_waits_when_it_has_gone_on_for_long
    order = []
    in_scheduler do
      fiber { sleep(0) && hand_rows(order, 0) { order.include?(:other) } }
      fiber { sleep(0) && order << :other }
    end
    assert_equal %i[row other], collapse(order)
  end

  def test_without_slices_it_does_not_before
    order = []
    in_scheduler do
      fiber { sleep(0) && hand_rows(order, LONG_S) { over? } }
      fiber { sleep(0) && order << :other }
    end
    assert_equal %i[row other], collapse(order)
  end

  def test_with_slices_who_has_waited_goes_first_and_it_goes_on_in_its_turn
    order = []
    in_timeslices do |scheduler|
      fiber do
        sleep(0) && hand_rows(order, LONG_S) { order.include?(:timer) } &&
          order << scheduler.preemptions
      end
      fiber { sleep(0) && order << :other && sleep(0.001) && order << :timer }
    end
    assert_equal %i[row other row timer], collapse(order)[0..3]
    assert_operator order.last, :>=, 2, "its slices have ended, it has not waited"
  end

  def test_with_slices_a_deadline_is_met
    ended = nil
    in_timeslices do
      fiber do
        NeverBlock.deadline(0.001) { hand_rows([], LONG_S) { false } }
      rescue NeverBlock::DeadlineExceeded => e
        ended = e
      end
    end
    assert_kind_of NeverBlock::DeadlineExceeded, ended
  end

  def test_in_a_region_that_is_not_left_nobody_else_runs
    order = []
    in_timeslices do
      fiber { sleep(0) && NeverBlock.uninterrupted { hand_rows(order, LONG_S) { over? } } }
      fiber { sleep(0) && order << :other }
    end
    assert_equal %i[row other], collapse(order)
  end

  private

  def hand_rows(order, longest)
    burst = NeverBlock::DB::CpuBurst.new(longest)
    @till = NeverBlock::Deadline.now + (5 * NeverBlock::DB::CpuBurst::LOOK_S)
    until yield
      order << :row
      burst.pause
    end
    true
  end

  # It has looked several times.
  def over?
    NeverBlock::Deadline.now > @till
  end

  def collapse(order)
    order.chunk_while { |one, other| one == other }.map(&:first)
  end
end
