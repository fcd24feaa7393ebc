# frozen_string_literal: true

require_relative "bench_case"

class BenchPlanTest < BenchCase
  def test_a_plan_that_fits_keeps_its_loads_and_a_long_one_loses_some
    short, long = %w[handoff stalls].map { |name| plan(name) }
    fitted = QuickPlan.fit([short, long], total: short.seconds + (long.seconds / 2))
    assert_equal short.scenarios, fitted.first.scenarios
    assert_operator fitted.last.seconds, :<=, long.seconds / 2
    assert_operator fitted.last.scenarios.size, :>, 1
    assert_empty fitted.last.scenarios - long.scenarios
  end

  def test_one_group_of_loads_is_kept_whatever_the_limit
    kept = plan("sequel").within(0).scenarios.map(&:name)
    assert_equal ["short only, 10, fibers", "short only, 10, blocking"], kept
  end

  def test_time_left_follows_the_pace_of_the_runs
    left = TimeLeft.new(100)
    assert_equal 100, left.seconds
    left.done(10, 20)
    assert_in_delta 180, left.seconds
    left.drop(40)
    assert_in_delta 100, left.seconds
    left.done(60, 60)
    assert_in_delta 0, left.seconds
    assert_equal "about 0 s left", left.to_s
  end

  private

  def plan(name)
    claim = Catalog.new.find(name)
    Plan.new(claim, settings: QuickPlan.settings(claim, rounds: nil, seconds: nil),
                    servers: claim.candidates)
  end
end
