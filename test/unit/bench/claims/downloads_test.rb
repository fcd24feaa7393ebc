# frozen_string_literal: true

require_relative "../bench_case"

class BenchDownloadsTest < BenchCase
  VERDICTS = 17

  def setup
    @claim = Catalog.new.find("downloads")
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [:met] * VERDICTS, verdicts.map(&:status)
  end

  def test_what_is_over_a_limit_is_missed
    three = "300 clients, 1 MB/s"
    beside = "300 clients, 1 MB/s, 200 stopped"
    {
      { ["neverblock auto", three] => { megabytes_per_second: 290.9 } } => [0],
      { ["neverblock auto", beside] => { megabytes_per_second: 290.9 } } => [1],
      { ["neverblock auto", three] => { first_p99_us: 10_000 } } => [2],
      { ["neverblock enba", three] => { first_p99_us: 50_000 } } => [3],
      { ["neverblock eba", three] => { first_p99_us: 50_000 } } => [4],
      { ["neverblock auto", beside] => { first_p99_us: 10_000 } } => [5],
      { ["neverblock enba", beside] => { first_p99_us: 50_000 } } => [6],
      { ["neverblock eba", beside] => { first_p99_us: 50_000 } } => [7],
      { ["neverblock auto", "200 clients, 1 MB/s"] => { megabytes_per_second: 189 } } => [8],
      { ["neverblock auto", "50 clients"] => { megabytes_per_second: 47.4 } } => [9],
      { ["neverblock sba", three] => { megabytes_per_second: 125.1 } } => [10],
      { ["neverblock sba", three] => { first_mean_us: 1_000_000 } } => [11],
      { ["neverblock sba", "100 clients"] => { error_count: 1 } } => [12],
      { ["neverblock enba", beside] => { error_count: 1 } } => [13],
      { ["neverblock eba", "50 clients"] => { error_count: 1 } } => [14],
      { ["neverblock eba 40K", three] => { error_count: 1 } } => [15],
      { ["neverblock auto", "200 clients"] => { error_count: 1 } } => [16]
    }.each do |change, missed|
      found = verdicts(change)
      assert_equal missed, missed_places(found),
                   change.inspect
    end
  end

  def test_nothing_measured_is_unknown
    assert_equal [:unknown] * VERDICTS, @claim.verdicts(Results.new([], servers: [])).map(&:status)
  end

  def test_the_tables_have_every_cell_beside_what_was_published
    tables = @claim.tables(results)
    assert_equal [24, 24, 6], tables.map { |table| table.rows.size }
    assert_equal ["300 neverblock sba", "2,000.0", "9.9", "1.00", "125.0", "0.42 x", "0.10", "100",
                  "20.0 %", "0", "0", "113.9, 1.0, 34.2"],
                 tables[1].rows.find { |row| row.first == "300 neverblock sba" }
    tables.each do |table|
      assert_whole_rows(table)
    end
  end

  def test_the_cells_are_those_of_2009_and_one_beside_clients_that_stop
    loads = @claim.scenarios.map do |scenario|
      scenario.load.to_h.values_at(:clients, :rate, :stopped, :fresh, :check)
    end
    assert_equal [50, 100, 200, 300].map { |clients| [clients, 0, 0, true, 1] } +
                 [50, 100, 200, 300].map { |clients| [clients, 1_000_000, 0, true, 1] } +
                 [[300, 1_000_000, 200, true, 1]], loads
  end

  def test_a_quick_look_has_smaller_files_and_the_largest_is_the_last
    load = @claim.scenarios.first.load
    long, quick = [false, true].map { |look| load.names(look) }
    assert_equal [6, "100MB.bin", 100_000_000], [long.size, long.last, largest(long)]
    assert_equal [6, "10MB.bin", 10_000_000], [quick.size, quick.last, largest(quick)]
  end

  def test_a_run_is_told_by_its_total_and_its_first_bytes
    assert_equal "150.5 MB/s, first byte p99 2.5 ms",
                 @claim.headline({ "megabytes_per_second" => 150.5, "first_p99_us" => 2_500 })
  end

  private

  # @return [Integer] bytes
  def largest(names)
    names.map { |name| FileSet.bytes(name) }.max
  end

  def verdicts(changes = {})
    @claim.verdicts(results(changes))
  end

  # Each figure as good as it has to be and no better.
  def results(changes = {})
    runs = @claim.scenarios.product(@claim.servers).map do |scenario, server|
      run_of(server, scenario: scenario.name, **figures(server, scenario.load),
                     **changes.fetch([server, scenario.name], {}))
    end
    Results.new(runs, servers: @claim.servers)
  end

  def figures(server, load)
    total = load.rate.zero? ? 50.0 : load.clients
    total = 291 if server == "neverblock auto" && load.clients == 300 && load.rate.positive?
    total = 190 if server == "neverblock auto" && load.clients == 200 && load.rate.positive?
    total = 47.5 if server == "neverblock auto" && load.rate.zero?
    total = [total, 125].min if server == "neverblock sba"
    first = { "neverblock auto" => 9_999, "neverblock sba" => 9_900 }.fetch(server, 49_999)
    { megabytes_per_second: total, top_megabytes_per_second: 1.0, first_mean_us: 2_000_000,
      first_p99_us: first, server_cpu_share: 0.1, cpu_us_per_megabyte: 100,
      generator_cpu_share: 0.2, waiting: 0, error_count: 0 }
  end
end
