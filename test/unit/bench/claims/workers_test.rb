# frozen_string_literal: true

require_relative "../bench_case"

class BenchWorkersTest < BenchCase
  COUNT = 10

  def setup
    @claim = Catalog.new.find("workers")
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [:met] * COUNT, verdicts.map(&:status)
  end

  def test_what_is_over_a_limit_is_missed
    {
      0 => { scale: 1.849 },
      1 => { extra_us: 1.01 },
      2 => { over_ideal: 1.31 },
      3 => { puma_p99: 199_999 },
      4 => { over_played: 1.31 },
      5 => { slow: 1.2 },
      6 => { light_p99: 20_001 },
      7 => { errors: { "neverblock" => 1 } },
      8 => { errors: { "neverblock w2" => 1 } },
      9 => { errors: { "neverblock w4 f1" => 1 } }
    }.each do |place, change|
      found = verdicts(**change)
      assert_equal [place], missed_places(found)
    end
  end

  def test_nothing_measured_is_unknown
    assert_equal [:unknown] * COUNT, @claim.verdicts(Results.new([], servers: [])).map(&:status)
  end

  def test_one_server_alone_still_has_its_tables
    runs = results.runs.select { |run| run["server"] == "puma w4 t1" }
    tables = @claim.tables(Results.new(runs, servers: ["puma w4 t1"]))
    assert_equal [0, 0, 0, 1, 0, 0], tables.map { |table| table.rows.size }
  end

  def test_every_row_has_a_cell_for_each_header
    tables = @claim.tables(results)
    assert_equal [2, 2, 1, 2, 1, 1], tables.map { |table| table.rows.size }
    tables.each do |table|
      assert_whole_rows(table)
    end
    assert_equal ["neverblock w2", "185", "1.85 x"], tables.first.rows.last.first(3)
  end

  def test_each_load_goes_to_the_clusters_it_is_about
    given = @claim.scenarios.to_h { |scenario| [scenario.name, measured_names(@claim, scenario)] }
    assert_equal ["neverblock w4 f1", "puma w4 t1", "falcon w4 h1"], given["exponential service"]
    assert_equal given["exponential service"], given["a worker stopped now and then"]
    assert_equal ["neverblock w2", "puma w2 t5", "falcon w2", "iodine w2 t5", "itsi w2 t5"],
                 given["light beside a CPU burner"]
    assert_equal 10, given["CPU-bound"].size
    assert_equal ["neverblock w2"], given["hello world by turns"]
  end

  def test_the_queue_is_asked_for_four_fifths_of_its_workers
    load = @claim.scenarios.find { |scenario| scenario.name == "exponential service" }.load
    assert_in_delta 0.8, load.rate * load.service_ms / 1000.0 / load.servers
  end

  private

  def verdicts(**changes)
    @claim.verdicts(results(**changes))
  end

  def results(scale: 1.85, extra_us: 1.0, over_ideal: 1.3, over_played: 1.3, puma_p99: 200_002,
              slow: 1.0, light_p99: 20_000, errors: {})
    count = ->(server) { { error_count: errors.fetch(server, 0) } }
    runs = [run_of("neverblock", scenario: "CPU-bound", rate: 100.0, **count["neverblock"]),
            run_of("neverblock w2", scenario: "CPU-bound", rate: 100 * scale,
                                    **count["neverblock w2"]),
            run_of("neverblock", scenario: "hello world", cpu_us_per_request: 7.0, error_count: 0),
            run_of("neverblock w2", scenario: "hello world", cpu_us_per_request: 9.0,
                                    error_count: 0),
            run_of("neverblock w2", scenario: "hello world by turns", requests: 30,
                                    cpu_us_per_request: 8.0, other_cpu_us_per_request: 7.5,
                                    cpu_us_over_other: extra_us, error_count: 0),
            run_of("neverblock w4 f1", scenario: "exponential service", p99_us: 100_000,
                                       p99_over_ideal: over_ideal, **count["neverblock w4 f1"]),
            run_of("puma w4 t1", scenario: "exponential service", p99_us: puma_p99, error_count: 5),
            run_of("neverblock w4 f1", scenario: "a worker stopped now and then", p99_us: 110_000,
                                       p99_over_played: over_played, slow_a_stop: slow,
                                       error_count: 0),
            run_of("neverblock w2", scenario: "light beside a CPU burner", p99_us: light_p99,
                                    error_count: 0)]
    Results.new(runs, servers: ["neverblock", "neverblock w2", "neverblock w4 f1", "puma w4 t1"])
  end
end
