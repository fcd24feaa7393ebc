# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/cluster/back_off"

class ClusterBackOffTest < Minitest::Test
  def setup
    @now = 50.0
    @back_off = NeverBlock::Cluster::BackOff.new(-> { @now })
  end

  def test_at_first_nothing_is_waited_for
    assert_equal [0.0, false], [@back_off.left, @back_off.failing?]
  end

  def test_each_failure_after_the_time_of_the_last_waits_longer_up_to_a_bound
    waits = Array.new(8) do
      @back_off.failed
      @back_off.left.tap { |seconds| @now += seconds }
    end
    assert_equal [1, 2, 4, 8, 16, 30, 30, 30], waits
  end

  def test_failures_at_the_same_time_count_once
    4.times { @back_off.failed }
    assert_equal 1, @back_off.left
  end

  def test_the_time_goes_by
    @back_off.failed
    @now += 0.25
    assert_in_delta 0.75, @back_off.left
    @now += 5
    assert_equal [0.0, true], [@back_off.left, @back_off.failing?]
  end

  def test_what_has_lasted_makes_it_forget
    @back_off.failed
    @back_off.lasted
    assert_equal [0.0, false], [@back_off.left, @back_off.failing?]
    @back_off.failed
    assert_equal 1, @back_off.left
  end

  def test_a_few_short_lives_are_made_good_at_once
    3.times { @back_off.short_lived }
    assert_equal 0.0, @back_off.left
    @back_off.short_lived
    assert_equal 1, @back_off.left
  end
end
