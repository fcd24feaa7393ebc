# frozen_string_literal: true

require_relative "../bench_case"

class BenchActiverecordTest < BenchCase
  WORKLOADS = ["very light", "light", "moderate", "heavy", "very heavy"].freeze

  def setup
    @claim = Catalog.new.find("activerecord")
  end

  def results(own: 100, slow: 1.0, fast_large: 100, errors: 0)
    runs = @claim.candidates.flat_map do |server|
      ours = server.family == "neverblock"
      @claim.scenarios.select { |scenario| @claim.measures?(server, scenario) }.map do |scenario|
        rates = { "slow" => slow * server.name[/\d+\z/].to_i * 10,
                  "select 1" => server.name == "neverblock p32" ? fast_large : 100 }
        rate = rates.fetch(scenario.name) { ours ? own : 100 }
        run_of(server.name, scenario: scenario.name, rate: rate, cpu_us_per_request: 10,
                            p50_us: 1, p99_us: 3, server_cpu_share: 1, rss_peak_bytes: 1,
                            error_count: ours ? errors : 0)
      end
    end
    Results.new(runs, servers: @claim.candidates.map(&:name))
  end

  def missed(**given)
    @claim.verdicts(results(**given)).select { |verdict| verdict.status == :missed }.map(&:text)
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [:met], @claim.verdicts(results).map(&:status).uniq
  end

  def test_a_peer_that_answers_more_is_told
    behind = WORKLOADS.flat_map do |name|
      ["puma 16", "falcon p16"].map { |peer| "#{name}: requests a second over #{peer}'s" }
    end
    assert_equal behind, missed(own: 99)
  end

  def test_a_pool_that_does_not_do_what_it_can_is_told
    assert_equal 5, missed(slow: 0.9).size
    assert_equal ["select 1: a pool of 32 over one of 4"], missed(fast_large: 80)
    assert_equal 5, missed(errors: 1).size
  end

  def test_the_workloads_are_measured_with_one_pool_and_the_pools_in_one_process
    light = @claim.scenarios.find { |scenario| scenario.name == "light" }
    slow = @claim.scenarios.find { |scenario| scenario.name == "slow" }

    assert_equal ["neverblock p16", "puma 16", "puma w4 t4", "falcon p16"],
                 measured_names(@claim, light)
    assert_equal 15, @claim.candidates.count { |server| @claim.measures?(server, slow) }
  end

  def test_every_table_has_a_cell_for_every_column
    @claim.tables(results).each do |table|
      assert_whole_rows(table)
    end
  end
end
