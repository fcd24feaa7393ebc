# frozen_string_literal: true

require_relative "../bench_case"

class BenchSequelTest < BenchCase
  PEERS = ["puma 12", "puma w4 t3", "falcon"].freeze
  MIXES = ["short only", "1 : 100", "1 : 50", "1 : 20", "1 : 10", "1 : 5"].freeze
  BLOCKING = 1000

  def setup
    @claim = Catalog.new.find("sequel")
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [:met], @claim.verdicts(results).map(&:status).uniq
  end

  def test_a_single_concurrency_at_which_fibers_are_behind_blocking_is_one_too_many
    assert_equal ["short only: fibers over blocking, worst of 10, 100, 1000 clients"],
                 missed({ "short only, 1000, fibers" => 999 })
    assert_equal ["1 : 5: fibers over blocking, worst of 10, 100, 1000 clients"],
                 missed({ "1 : 5, 10, fibers" => 999 })
  end

  def test_with_more_clients_than_connections_the_published_advantage_is_asked
    assert_equal ["1 : 5: fibers over blocking, worst of 100, 1000 clients"],
                 missed({ "1 : 5, 100, fibers" => 1689 })
    assert_equal ["1 : 100: fibers over blocking, worst of 100, 1000 clients"],
                 missed({ "1 : 100, 1000, fibers" => 1159 })
    assert_empty missed({ "1 : 5, 10, fibers" => 1000 })
  end

  def test_with_short_queries_every_peer_is_to_be_reached
    assert_equal PEERS.map { |peer| "short only: requests a second over #{peer}'s" },
                 missed({}, peers: 1701)
    assert_equal(6, missed({}, cpu: 101).size)
  end

  def test_a_single_error_is_one_too_many
    assert_equal ["errors in all rounds"], missed({}, errors: 1)
  end

  def test_every_table_has_a_cell_for_every_column
    @claim.tables(results).each do |table|
      assert_whole_rows(table)
    end
    assert_equal [MIXES.size, MIXES.size * 4],
                 @claim.tables(results).map { |table| table.rows.size }
  end

  def test_blocking_is_asked_of_our_own_server_only_and_peers_at_one_concurrency
    loads = @claim.scenarios.group_by { |scenario| measured_names(@claim, scenario) }
    assert_equal [["neverblock"], ["neverblock", *PEERS]], loads.keys.sort_by(&:size)
    assert_equal MIXES.map { |mix| "#{mix}, 100, fibers" },
                 loads[["neverblock", *PEERS]].map(&:name)
  end

  private

  def missed(rates, **given)
    verdicts = @claim.verdicts(results(rates, **given))
    verdicts.select { |verdict| verdict.status == :missed }.map(&:text)
  end

  # Fibers: 1.7 times the rate of blocking, which is enough for each mix.
  def results(rates = {}, peers: 1700, cpu: 100, errors: 0)
    own = MIXES.product([10, 100, 1000], %w[fibers blocking]).map do |mix, clients, mode|
      name = "#{mix}, #{clients}, #{mode}"
      rate = rates.fetch(name) { mode == "fibers" ? 1700 : BLOCKING }
      figures("neverblock", name, rate, cpu, errors)
    end
    theirs = PEERS.product(MIXES).map do |peer, mix|
      figures(peer, "#{mix}, 100, fibers", peers, 100, 0)
    end
    Results.new(own + theirs, servers: ["neverblock", *PEERS])
  end

  def figures(server, scenario, rate, cpu, errors)
    run_of(server, scenario: scenario, rate: rate, cpu_us_per_request: cpu, p50_us: 1, p99_us: 3,
                   rss_peak_bytes: 1_000_000, error_count: errors)
  end
end
