# frozen_string_literal: true

require_relative "bench_case"

class BenchScenarioTest < BenchCase
  def test_a_measurement_has_five_rounds_of_eight_seconds_and_a_quick_look_two_of_two
    assert_equal [5, 8, 2, false], Settings.for.to_a
    assert_equal [2, 2, 1, true], Settings.for(quick: true).to_a
    assert_equal [9, 3, 1, true], Settings.for(quick: true, rounds: 9, seconds: 3).to_a
  end

  def test_a_scenario_that_needs_longer_runs_longer
    scenario = Scenario.new(name: "n", title: "t", load: Load.new(connections: 1), seconds_min: 20,
                            seconds_min_quick: 10)
    assert_equal 20, scenario.seconds(Settings.for)
    assert_equal 30, scenario.seconds(Settings.for(seconds: 30))
    assert_equal 10, scenario.seconds(Settings.for(quick: true))
  end

  def test_a_scenario_that_tells_no_more_in_longer_runs_stays_short
    scenario = Scenario.new(name: "n", title: "t", load: Load.new(connections: 1), seconds_max: 2)
    assert_equal [2, 1],
                 [scenario.seconds(Settings.for), scenario.seconds(Settings.for(seconds: 1))]
  end

  def test_the_warm_up_is_the_load_itself_unless_another_is_given
    load = Load.new(connections: 1)
    assert_same load, Scenario.new(name: "n", title: "t", load: load).warmup
  end
end
