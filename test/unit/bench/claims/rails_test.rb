# frozen_string_literal: true

require_relative "../bench_case"

class BenchRailsTest < BenchCase
  PEERS = ["puma 12", "puma w4 t3", "falcon"].freeze
  SERVERS = ["neverblock", *PEERS, "neverblock w1", "neverblock w2", "puma w16 t1"].freeze

  def setup
    @claim = Catalog.new.find("rails")
  end

  # @param own [Hash] figures of neverblock in the place of those of all
  # @param one [Hash] likewise of neverblock w1
  # @param two [Hash] likewise of neverblock w2
  def results(own: {}, one: {}, two: {})
    measured = SERVERS.product(@claim.scenarios.map(&:name)).reject do |server, scenario|
      server == "neverblock w1" && scenario != "1 : 10, 200 clients"
    end
    runs = measured.map do |server, scenario|
      figures = { rate: peer?(server) ? 120 : 121, cpu_us_per_request: peer?(server) ? 100 : 99,
                  p50_us: 1, p99_us: 3, rss_idle_bytes: 1,
                  rss_peak_bytes: server == "puma w16 t1" ? 1_000_000 : 175_000, error_count: 0 }
      figures.merge!(own) if server == "neverblock"
      figures.merge!(one) if server == "neverblock w1"
      figures.merge!(two) if server == "neverblock w2"
      run_of(server, scenario: scenario, **figures)
    end
    Results.new(runs, servers: SERVERS)
  end

  def peer?(server)
    !server.start_with?("neverblock")
  end

  def missed(**given)
    @claim.verdicts(results(**given)).select { |verdict| verdict.status == :missed }.map(&:text)
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [], missed
    assert_equal [:met], @claim.verdicts(results).map(&:status).uniq
  end

  def test_each_limit_can_be_missed
    assert_equal 2 + 4, missed(own: { rate: 115 }).size,
                 "two loads of sleepers, and two peers with short queries and pages"
    assert_equal 4, missed(own: { cpu_us_per_request: 100 }).size
    assert_equal ["errors in all rounds"], missed(own: { error_count: 1 })
    assert_equal ["1 : 10, 200 clients: memory over one Puma process's"],
                 missed(own: { rss_peak_bytes: 175_001 })
    assert_equal ["1 : 10, 200 clients: memory of one process over 16 Puma workers'"],
                 missed(one: { rss_peak_bytes: 175_001 })
    assert_equal ["1 : 10, 200 clients: requests a second of one process over 16 Puma workers'"],
                 missed(one: { rate: 118 })
    assert_equal ["a page of 50 rows, 200 clients: " \
                  "requests a second of 2 workers over 16 Puma workers'"],
                 missed(two: { rate: 119 })
  end

  def test_every_table_has_a_cell_for_every_column
    @claim.tables(results).each do |table|
      assert_whole_rows(table)
    end
  end

  def test_connections_are_shared_out
    shares = @claim.candidates.map do |server|
      launch = server.launch(port: 1, app: "a.ru", directory: "/tmp/x")
      launch.environment["RAILS_MAX_THREADS"]
    end
    assert_equal %w[12 12 3 12 16 8 1], shares
  ensure
    Services.stop_all
  end
end
