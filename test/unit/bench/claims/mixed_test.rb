# frozen_string_literal: true

require_relative "../bench_case"

class BenchMixedTest < BenchCase
  PEERS = ["puma 20", "puma w4 t5", "falcon"].freeze
  MET = { "every fifth long" => 450, "every fifth long, many" => 400, "short only" => 4000,
          "long only" => 97 }.freeze

  def setup
    @claim = Catalog.new.find("mixed")
  end

  def results(own: MET, peers: MET, cpu: 100, errors: 0)
    runs = ["neverblock", *PEERS].flat_map do |server|
      ours = server == "neverblock"
      (ours ? own : peers).map do |scenario, rate|
        run_of(server, scenario: scenario, rate: rate, cpu_us_per_request: ours ? cpu : 100,
                       p50_us: 1, p90_us: 2, p99_us: 3, rss_peak_bytes: 1_000_000,
                       error_count: ours ? errors : 0)
      end
    end
    Results.new(runs, servers: ["neverblock", *PEERS])
  end

  def missed(**given)
    @claim.verdicts(results(**given)).select { |verdict| verdict.status == :missed }.map(&:text)
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [], missed
    assert_equal [:met], @claim.verdicts(results).map(&:status).uniq
  end

  def test_a_share_under_its_limit_is_missed
    assert_equal ["every fifth long: share of what 20 connections can do"],
                 missed(own: MET.merge("every fifth long" => 449))
    assert_equal ["long only: share of what 20 connections can do"],
                 missed(own: MET.merge("long only" => 96))
  end

  def test_every_peer_is_to_be_reached_with_short_queries_and_in_the_crowd
    assert_equal PEERS.map { |peer| "short only: requests a second over #{peer}'s" },
                 missed(own: MET.merge("short only" => 3999))
    assert_equal 6, missed(cpu: 101).size
  end

  def test_a_single_error_is_one_too_many
    assert_equal ["errors in all rounds"], missed(errors: 1)
  end

  def test_every_table_has_a_cell_for_every_column
    @claim.tables(results).each do |table|
      assert_whole_rows(table)
    end
  end

  def test_connections_are_shared_out_to_workers_and_the_database_is_asked_for_when_a_server_starts
    asked = []
    servers = Servers.with_database(pool: 20, gems: "pg") do |share|
      asked << share
      { "POOL" => share.to_s }
    end
    assert_equal ["neverblock", *PEERS], servers.map(&:name)
    assert_equal [], asked
    pools = servers.map do |server|
      server.launch(port: 1, app: "a.ru", directory: "/tmp/x").environment["POOL"]
    end
    assert_equal %w[20 20 5 20], pools
  end
end
