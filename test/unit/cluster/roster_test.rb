# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/cluster/roster"

class ClusterRosterTest < Minitest::Test
  Worker = Struct.new(:number, :state, :leaving, :mold)

  def test_numbers_without_a_worker_are_missing
    assert_equal [1, 3], roster(4, [0, :serving], [2, :starting]).missing
  end

  def test_one_that_retires_or_is_to_leave_has_no_number_any_more
    assert_equal [0, 1], roster(3, [0, :retiring], [1, :serving, "large"], [2, :ready]).missing
  end

  def test_workers_of_a_reload_do_not_count_yet
    assert_equal [1], roster(2, [0, :serving, nil, :old], [1, :ready, nil, :new]).missing(:new)
    assert_empty roster(2, [0, :serving, nil, :old], [1, :ready, nil, :new]).missing
  end

  def test_those_past_the_target_are_surplus_when_they_serve
    found = roster(1, [0, :serving], [1, :serving], [2, :retiring], [3, :starting]).surplus
    assert_equal [1], found.map(&:number)
  end

  def test_a_new_one_succeeds_those_of_its_number_that_are_to_leave
    roster = roster(2, [0, :serving, "large"], [0, :serving], [1, :serving, "large"])
    assert_equal [roster.all.first], roster.succeeded_by(roster.all[1])
  end

  def test_the_target_stays_in_its_range
    roster = roster(2)
    { 0 => 1, 1 => 1, 128 => 128, 129 => 128 }.each do |wanted, got|
      roster.target = wanted
      assert_equal got, roster.target
    end
  end

  def test_it_stays_in_that_for_which_there_are_places
    roster = NeverBlock::Cluster::Roster.new(2, most: 8)
    roster.target = 9
    assert_equal 8, roster.target
    assert_equal 1..9, NeverBlock::Cluster::Roster.new(9, most: 8).range
  end

  private

  def roster(target, *workers)
    NeverBlock::Cluster::Roster.new(target).tap do |roster|
      workers.each { |fields| roster.all << Worker.new(*fields) }
    end
  end
end
