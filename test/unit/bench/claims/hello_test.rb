# frozen_string_literal: true

require_relative "../bench_case"

class BenchHelloTest < BenchCase
  BUSY = "64 clients"
  ALONE = "1 client"
  PIPELINED = "64 clients, 16 deep"

  def setup
    @claim = Catalog.new.find("hello")
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [:met] * 5, statuses(cpu: 12.0, rate: 90, p50: 60, deep: 180)
  end

  def test_each_claim_is_missed_beyond_its_limit
    assert_equal %i[missed met met met met], statuses(cpu: 12.1, rate: 90, p50: 60, deep: 180)
    assert_equal %i[met missed met met met], statuses(cpu: 12.0, rate: 89, p50: 60, deep: 180)
    assert_equal %i[met met missed met met], statuses(cpu: 12.0, rate: 90, p50: 61, deep: 180)
    assert_equal %i[met met met missed met], statuses(cpu: 12.0, rate: 90, p50: 60, deep: 179)
  end

  def test_a_single_error_is_one_too_many
    assert_equal :missed, statuses(cpu: 12.0, rate: 90, p50: 60, deep: 180, errors: 1).last
  end

  def test_without_the_yardstick_only_what_needs_none_is_judged
    runs = runs_of("neverblock", cpu: 12.0, rate: 90, p50: 60, deep: 180)
    assert_equal %i[unknown unknown unknown met met],
                 @claim.verdicts(Results.new(runs, servers: ["neverblock"])).map(&:status)
  end

  def test_the_tables_compare_each_server_with_nginx
    busy, alone, pipelined = @claim.tables(results(cpu: 12.0, rate: 90, p50: 60, deep: 180))
    assert_equal ["neverblock", "90", "0.90 x", "12.0", "1.20 x"], busy.rows.first.first(5)
    assert_equal ["nginx", "100", "1.00 x", "10.0", "1.00 x"], busy.rows.last.first(5)
    assert_equal %w[neverblock 60 20.0], alone.rows.first.first(3)
    assert_equal ["neverblock", "180", "2.00 x", "1.20 x"], pipelined.rows.first.first(4)
  end

  def test_the_loads_are_64_clients_one_client_and_16_at_once
    assert_equal([[64, 1, 1, "/"], [1, 1, 1, "/"], [64, 1, 16, "/"]],
                 @claim.scenarios.map { |scenario| scenario.load.to_a })
  end

  private

  def statuses(**own)
    @claim.verdicts(results(**own)).map(&:status)
  end

  def results(**own)
    runs = runs_of("neverblock", **own) + runs_of("nginx", cpu: 10.0, rate: 100, p50: 40, deep: 150)
    Results.new(runs, servers: %w[neverblock nginx])
  end

  def runs_of(server, cpu:, rate:, p50:, deep:, errors: 0)
    [run_of(server, scenario: BUSY, rate: rate, cpu_us_per_request: cpu),
     run_of(server, scenario: ALONE, p50_us: p50),
     run_of(server, scenario: PIPELINED, rate: deep, error_count: errors)]
  end
end
