# frozen_string_literal: true

require_relative "../bench_case"

class BenchStallsTest < BenchCase
  COUNT = 14

  def setup
    @claim = Catalog.new.find("stalls")
  end

  def test_every_claim_is_met_just_below_its_limit
    assert_equal [:met] * COUNT, verdicts.map(&:status)
  end

  def test_what_reaches_a_limit_is_missed
    {
      0 => ["four hogs: gsub", { p50_us: 6_000 }],
      1 => ["four hogs: bignum", { p99_us: 12_000 }],
      2 => ["four hogs: mutex", { file_p99_us: 5_000 }],
      3 => ["four hogs: loop", { health_p99_us: 5_000 }],
      4 => ["a thread that computes", { p50_us: 6_000 }],
      5 => ["four hogs and a thread: loop", { p99_us: 12_000 }],
      6 => ["a thread that computes", { file_p99_us: 5_000 }],
      7 => ["a thread that computes", { health_p99_us: 5_000 }],
      8 => ["four hogs by turns: enumerator", { kept_share: 0.949 }],
      9 => ["50 waits for a lock of a file", { p99_us: 20_000 }],
      10 => ["beside a call with Ruby's lock, 2 workers", { p99_us: 20_000 }],
      11 => ["waiting requests beside a call without Ruby's lock", { max_us: 1_100_000 }],
      12 => ["hello world", { cpu_ratio: 1.01 }],
      13 => ["four hogs: loop", { error_count: 1 }]
    }.each do |place, (scenario, change)|
      found = verdicts(scenario => change)
      assert_equal [place], missed_places(found),
                   scenario
    end
  end

  def test_nothing_measured_is_unknown
    assert_equal [:unknown] * COUNT, @claim.verdicts(Results.new([], servers: [])).map(&:status)
  end

  def test_every_row_has_a_cell_for_each_header
    tables = @claim.tables(results({}))
    assert_equal [7, 4, 2], tables.map { |table| table.rows.size }
    tables.each do |table|
      assert_whole_rows(table)
    end
    assert_equal ["neverblock", "loop", "5.90", "11.90", "13.00", "4.90", "4.90", "19", "0.95 x",
                  "0"], tables.first.rows.first
  end

  def test_each_load_goes_to_those_it_is_about
    given = @claim.scenarios.to_h { |scenario| [scenario.name, measured_names(@claim, scenario)] }
    assert_equal ["neverblock", "neverblock watch"], given["hello world"]
    assert_equal ["neverblock", "puma 5", "iodine 5", "falcon"], given["four hogs: loop"]
    assert_equal ["neverblock"], given["four hogs: gsub"]
    assert_equal ["neverblock"], given["four hogs by turns: gsub"]
    assert_equal ["neverblock w2", "puma w2 t5", "falcon w2"],
                 given["beside a call with Ruby's lock, 2 workers"]
  end

  def test_the_server_has_a_file_of_its_own_and_an_address_for_its_health
    Dir.mktmpdir do |directory|
      launch = StallServers.all[1].launch(port: 7, app: "a.ru", directory: directory)
      assert_includes launch.command.each_cons(2), ["--admin", launch.admin_url]
      assert_includes launch.command.each_cons(2), ["--public", FileSet.shared.directory]
      assert_includes File.read(File.join(directory, "neverblock.rb")), "cooperative true"
    end
  end

  private

  def verdicts(changes = {})
    @claim.verdicts(results(changes))
  end

  def results(changes)
    common = { p50_us: 5_900, p99_us: 11_900, max_us: 13_000, file_p99_us: 4_900,
               health_p99_us: 4_900, late_p99_us: 50, error_count: 0, beside_count: 19,
               kept_share: 0.95, cpu_us_per_request: 10.0, other_cpu_us_per_request: 9.91,
               cpu_ratio: 1.009, requests: 100_000 }
    names = @claim.scenarios.map(&:name)
    runs = names.map do |name|
      server = name.end_with?("2 workers") ? "neverblock w2" : "neverblock"
      run_of(server, scenario: name, **common, **changes.fetch(name, {}))
    end
    watch = run_of("neverblock watch", scenario: "hello world", **common,
                                       **changes.fetch("hello world", {}))
    Results.new([*runs, watch], servers: ["neverblock", "neverblock watch", "neverblock w2"])
  end
end
