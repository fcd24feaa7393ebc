# frozen_string_literal: true

require_relative "../bench_case"

class BenchTlsTest < BenchCase
  def setup
    @claim = Catalog.new.find("tls")
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [:met] * 9, statuses
  end

  def test_each_claim_is_missed_beyond_its_limit
    assert_equal [0], missed("HTTP/2" => { rate: 69 })
    assert_equal [1], missed("HTTPS/1.1" => { rate: 79 })
    assert_equal [2], missed("HTTP/2, 20 MB" => { rate: 79 })
    assert_equal [3], missed("HTTPS/1.1, 20 MB" => { rate: 79 })
    assert_equal [4], missed("HTTP/2" => { cpu: 161 })
    assert_equal [5], missed("full handshakes" => { cpu: 112 })
    assert_equal [6], missed("resumed handshakes" => { cpu: 112 })
    assert_equal [7], missed("HTTP/2, 1 KB beside 1 GB" => { p99: 20_000 })
  end

  def test_a_single_error_is_one_too_many
    assert_equal [8], missed("HTTPS/1.1" => { errors: 1 })
  end

  def test_the_tables_compare_each_server_with_nginx
    tables = @claim.tables(results)
    tables.each { |table| assert_whole_rows(table) }
    assert_equal ["HTTP/2, neverblock", "70", "0.70 x", "160.0", "1.60 x"],
                 tables.first.rows.first.first(5)
    assert_equal 8, tables[2].rows.size
    assert_equal [%w[neverblock 1.0 19.9 30.0 0], %w[nginx 1.0 50.0 30.0 0]], tables.last.rows
  end

  def test_puma_is_measured_where_it_can_serve
    measured = @claim.scenarios.to_h { |one| [one.name, measured_names(@claim, one).size] }
    assert_equal [2, 3, 2, 2, 3, 3, 3, 3, 2], measured.values
  end

  private

  def statuses(changes = {}) = @claim.verdicts(results(changes)).map(&:status)
  def missed(changes) = missed_places(@claim.verdicts(results(changes)))

  # At the limit, but for the changes.
  def results(changes = {})
    runs = @claim.scenarios.map(&:name).flat_map do |name|
      own = { rate: Claims::Tls::RATE_MIN.fetch(name, 1) * 100, errors: 0, p99: 19_900,
              cpu: Claims::Tls::CPU_MAX.fetch(name, 1) * 100 }.merge(changes.fetch(name, {}))
      [one("neverblock", name, **own), one("nginx", name, rate: 100, cpu: 100, p99: 50_000)]
    end
    Results.new(runs, servers: %w[neverblock nginx])
  end

  def one(server, scenario, rate:, cpu:, p99:, errors: 0)
    run_of(server, scenario: scenario, rate: rate, cpu_us_per_request: cpu, error_count: errors,
                   p50_us: 1000, p99_us: p99, max_us: 30_000)
  end
end
