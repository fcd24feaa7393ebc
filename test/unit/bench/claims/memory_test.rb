# frozen_string_literal: true

require_relative "../bench_case"

class BenchMemoryTest < BenchCase
  def setup
    @claim = Catalog.new.find("memory")
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [:met] * 5, verdicts.map(&:status)
  end

  def test_what_is_over_a_limit_is_missed
    { 0 => { bytes: 1_025 }, 1 => { share: 0.949 }, 2 => { requests: 4_999 },
      3 => { streams: 4_999 }, 4 => { errors: 1 } }.each do |place, change|
      found = verdicts(**change)
      assert_equal [place], missed_places(found)
    end
  end

  def test_nothing_measured_is_unknown
    assert_equal [:unknown] * 5, @claim.verdicts(Results.new([], servers: [])).map(&:status)
  end

  def test_a_server_stands_in_the_tables_of_the_loads_it_was_given
    tables = @claim.tables(results)
    assert_equal [["neverblock 5000", "nginx"], ["neverblock 5000"], ["neverblock 5000"]],
                 tables.map { |table| table.rows.map(&:first) }
    assert_equal ["neverblock 5000", "8,000", "1,024", "30.0", "1.0", "100", "95", "95.0 %", "7.0",
                  "7.1"], tables.first.rows.first
    tables.each do |table|
      assert_whole_rows(table)
    end
  end

  def test_each_load_goes_to_those_that_can_bear_it
    given = @claim.scenarios.to_h { |scenario| [scenario.name, measured_names(@claim, scenario)] }
    assert_equal(
      { "idle connections" => ["neverblock 5000", "nginx", "iodine 5", "falcon", "puma 5"],
        "requests in flight" => ["neverblock 5000", "falcon", "puma 1000"],
        "event streams" => ["neverblock 5000", "falcon", "puma 1000"] }, given
    )
  end

  def test_its_own_server_has_a_fiber_for_each_request
    assert_equal "5000", @claim.candidates.first.launch(port: 1, app: "app.ru").command.last
  end

  def test_the_applications_streams_outlast_what_is_measured_of_them
    assert_operator File.read(@claim.app)[/QUIET_SECONDS = (\d+)/, 1].to_i, :>,
                    MemoryMeasurement::SETTLE_SECONDS + MemoryMeasurement::ANSWERS_SECONDS
  end

  private

  def verdicts(**changes)
    @claim.verdicts(results(**changes))
  end

  def results(bytes: 1_024, share: 0.95, requests: 5_000, streams: 5_000, errors: 0)
    memory = { bytes_per_client: bytes, rss_idle_bytes: 30_000_000, rss_left_bytes: 1_000_000,
               error_count: errors }
    idle = { scenario: "idle connections", clients: 8_000, answered: 8_000, rate: 95.0,
             rate_alone: 100.0, busy_share: share, cpu_us_alone: 7.0, cpu_us_per_request: 7.1,
             **memory }
    runs = [run_of("neverblock 5000", **idle), run_of("nginx", **idle),
            run_of("neverblock 5000", scenario: "requests in flight", clients: 5_000,
                                      answered: requests, **memory),
            run_of("neverblock 5000", scenario: "event streams", clients: 5_000,
                                      answered: streams, **memory)]
    Results.new(runs, servers: ["neverblock 5000", "nginx"])
  end
end
