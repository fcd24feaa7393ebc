# frozen_string_literal: true

require_relative "../bench_case"

class BenchSendfileTest < BenchCase
  VERDICTS = 13

  def setup
    @claim = Catalog.new.find("sendfile")
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [:met] * VERDICTS, verdicts.map(&:status)
  end

  def test_what_is_over_a_limit_is_missed
    sizes = ["16 KB", "64 KB", "256 KB", "1 MB", "20 MB"]
    cases = sizes.each_with_index.flat_map do |size, place|
      [[size, { rate: 94.9 }, place], [size, { cpu_us_per_request: 11.1 }, place + 5]]
    end
    cases += [["64 KB", { p50_us: 501 }, 10], ["64 KB, 1 client", { p50_us: 501 }, 11],
              ["256 KB, 1 client", { error_count: 1 }, 12]]
    cases.each do |scenario, change, missed|
      found = verdicts(scenario => change)
      assert_equal [missed], missed_places(found),
                   [scenario, change].inspect
    end
  end

  def test_nothing_measured_is_unknown
    assert_equal [:unknown] * VERDICTS, @claim.verdicts(Results.new([], servers: [])).map(&:status)
  end

  def test_without_sendfile_only_the_sizes_of_2008_are_measured
    given = @claim.scenarios.to_h { |scenario| [scenario.name, measured_names(@claim, scenario)] }
    two = %w[neverblock nginx]
    assert_equal({ "16 KB" => two, "64 KB" => @claim.servers, "256 KB" => @claim.servers,
                   "1 MB" => two, "20 MB" => two, "64 KB, 1 client" => @claim.servers,
                   "256 KB, 1 client" => @claim.servers }, given)
  end

  def test_the_tables_set_each_server_beside_itself_without_sendfile_and_2008
    tables = @claim.tables(results)
    assert_equal [10, 10, 10], tables.map { |table| table.rows.size }
    assert_equal ["64 KB neverblock", "500", "1.00 x", "11.0", "1.00 x", "22, 17, 0.928", "0"],
                 tables[1].rows.first
    assert_equal ["64 KB neverblock to_path", "500", "-", "11.0", "-", "-", "0"], tables[1].rows[2]
    tables.each do |table|
      assert_whole_rows(table)
    end
  end

  def test_clients_keep_their_connections
    assert_equal([[50, false]] * 5 + [[1, false]] * 2,
                 @claim.scenarios.map { |scenario| scenario.load.to_h.values_at(:clients, :fresh) })
  end

  private

  def verdicts(changes = {})
    @claim.verdicts(results(changes))
  end

  # Ours as good as it has to be and no better.
  def results(changes = {})
    measured = @claim.scenarios.product(@claim.servers).select do |scenario, server|
      @claim.measures?(Struct.new(:name).new(server), scenario)
    end
    runs = measured.map do |scenario, server|
      best = server == "nginx"
      figures = { rate: best ? 100.0 : 95.0, cpu_us_per_request: best ? 10.0 : 11.0, mean_us: 500,
                  p50_us: 500, p99_us: 900, first_p50_us: 100, megabytes_per_second: 1.0,
                  core_us_per_request: 20, core_share: 0.9, generator_cpu_share: 0.2,
                  error_count: 0 }
      changed = server == "neverblock" ? changes.fetch(scenario.name, {}) : {}
      run_of(server, scenario: scenario.name, **figures, **changed)
    end
    Results.new(runs, servers: @claim.servers)
  end
end
