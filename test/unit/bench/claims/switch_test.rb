# frozen_string_literal: true

require_relative "../bench_case"

class BenchSwitchTest < BenchCase
  PEER = "io-event epoll"

  def setup
    @claim = Catalog.new.find("switch")
  end

  def test_a_wake_may_cost_what_it_costs_with_io_event
    assert_equal %i[met met met], statuses(/CPU time of a wake/, 2.0)
    assert_equal %i[missed missed missed], statuses(/CPU time of a wake/, 2.01)
  end

  def test_a_million_sleeps_take_under_five_seconds
    assert_equal %i[met], statuses(/a million sleeps/, 1, rate: 200_001)
    assert_equal %i[missed], statuses(/a million sleeps/, 1, rate: 200_000)
  end

  def test_without_io_event_its_verdicts_are_unknown
    verdicts = @claim.verdicts(Results.new([], servers: ["neverblock"]))
    assert_equal [:unknown], verdicts.map(&:status).uniq
  end

  def test_the_selector_is_named_for_each_peer_and_none_for_us
    environments = @claim.candidates.to_h do |candidate|
      [candidate.name, candidate.send(:environment)["IO_EVENT_SELECTOR"]]
    end
    assert_equal({ "neverblock" => nil, "async epoll" => "EPoll", "async uring" => "URing",
                   PEER => "EPoll", "io-event uring" => "URing" }, environments)
  end

  def test_a_run_is_short_because_an_operation_is
    assert_equal [2], @claim.scenarios.map { |scenario| scenario.seconds(Settings.for) }.uniq
  end

  def test_the_table_has_a_row_for_each_operation_in_nanoseconds
    rows = @claim.tables(results(0.5, 1)).first.rows
    assert_equal @claim.scenarios.map(&:name), rows.map(&:first)
    assert_equal ["timer, 1000 fibers", "500", "2,000"], rows[2]
  end

  private

  def statuses(pattern, cost, rate: 1)
    verdicts = @claim.verdicts(results(cost, rate))
    verdicts.select { |verdict| verdict.text.match?(pattern) }.map(&:status)
  end

  def results(cost, rate)
    runs = @claim.scenarios.flat_map do |scenario|
      [run_of("neverblock", scenario: scenario.name, cpu_us_per_request: cost, rate: rate),
       run_of(PEER, scenario: scenario.name, cpu_us_per_request: 2.0)]
    end
    Results.new(runs, servers: ["neverblock", PEER])
  end
end
