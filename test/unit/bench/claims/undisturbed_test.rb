# frozen_string_literal: true

require_relative "../bench_case"

class BenchUndisturbedTest < BenchCase
  def setup
    @claim = Catalog.new.find("undisturbed")
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [:met] * 3, verdicts.map(&:status)
  end

  def test_what_is_over_a_limit_is_missed
    { { cold: 10_000 } => 0, { burner: 1_501 } => 1, { errors: 1 } => 2 }.each do |change, missed|
      found = verdicts(**change)
      assert_equal [missed], missed_places(found)
    end
  end

  def test_nothing_measured_is_unknown
    assert_equal [:unknown] * 3, @claim.verdicts(Results.new([], servers: [])).map(&:status)
  end

  def test_the_tables_set_what_is_beside_the_disturbance_beside_what_is_without
    tables = @claim.tables(results)
    assert_equal [%w[neverblock nginx], %w[neverblock nginx]],
                 tables.map { |table| table.rows.map(&:first) }
    assert_equal ["neverblock", "0.10", "0.90", "2.00", "0.10", "10.00", "2.00", "3.9", "-", "50",
                  "0"], @claim.tables(results(cold: 10_000)).first.rows.first
    tables.each do |table|
      assert_whole_rows(table)
    end
  end

  def test_each_load_goes_to_those_it_is_about
    ThrottledFolder.stub(:obstacle, nil) do
      pair = %w[neverblock nginx]
      three = ["neverblock", "nginx", "nginx aio"]
      assert_equal [pair, pair, three, three],
                   given.values_at(*@claim.scenarios.map(&:name).rotate(2))
    end
  end

  def test_without_a_slow_disk_that_load_is_left_out
    ThrottledFolder.stub(:obstacle, "it needs root") do
      assert_equal [], given.fetch("hot file beside cold ones")
    end
  end

  def test_the_cold_files_outlast_what_the_disk_can_give_in_the_longest_run
    cold = @claim.scenarios.find { |scenario| scenario.name == "hot file beside cold ones" }
    assert_operator cold.load.files.sum { |name| FileSet.bytes(name) }, :>,
                    cold.load.bytes_per_second * cold.seconds(Settings.for) * 2
  end

  def test_nginx_passes_on_what_burns_to_a_server_behind_it
    Dir.mktmpdir do |directory|
      launch = @claim.candidates[1].launch(port: 4321, app: @claim.app, directory: directory)
      port = launch.command.last[%r{-b http://127.0.0.1:(\d+)}, 1]
      assert_includes File.read(File.join(directory, "nginx.conf")),
                      "proxy_pass http://127.0.0.1:#{port};"
      assert_match(/ & exec nginx -p #{directory} /, launch.command.last)
      assert_equal "read", launch.environment["NB_BENCH_THROUGH"]
    end
  end

  private

  def given
    @claim.scenarios.to_h { |scenario| [scenario.name, measured_names(@claim, scenario)] }
  end

  def verdicts(**changes)
    @claim.verdicts(results(**changes))
  end

  def results(cold: 9_999, burner: 1_500, errors: 0)
    common = { p50_us: 100, p99_us: 900, max_us: 2_000, late_p99_us: 50, error_count: 0,
               cold_megabytes_per_second: 3.9, beside_count: 3 }
    own = { "hot file beside cold ones" => { p99_us: cold },
            "hot file beside a burner" => { p99_us: burner, error_count: errors } }
    runs = @claim.scenarios.flat_map do |scenario|
      [run_of("neverblock", scenario: scenario.name, **common, **own.fetch(scenario.name, {})),
       run_of("nginx", scenario: scenario.name, **common, p99_us: 1_000)]
    end
    Results.new(runs, servers: %w[neverblock nginx])
  end
end
