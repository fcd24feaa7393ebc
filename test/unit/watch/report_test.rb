# frozen_string_literal: true

require_relative "watch_case"
require "neverblock/watch/report"

class WatchReportTest < WatchCase
  def test_every_part_has_its_row
    text = Report.new(document).to_s
    [
      "NeverBlock 2.0.9 on Ruby 3.1.2, process 4711", "running, up 2 h 13 min",
      "http://127.0.0.1:9292 unix:///run/app.sock", "open 512, limit 10,000, idle 480",
      "running 29, queued 2, writing 1; total 1,234,567, shed 4, refused 6, timed out 8, " \
      "aborted 9, lost 3, errors 5",
      "5xx 7", "sent 4.20 GB", "lookups 12", "resident 80.1 MB", "time 34.0 ms", "lines dropped 0",
      "by executors 7,000"
    ].each { |words| assert_includes text, words }
    assert_match(/^latency +count +p50 +p90 +p99 +max$/, text)
    assert_match(/^run +4,000 +340 µs +2\.10 ms +51\.2 ms +1\.25 s$/, text)
    assert_match(/^body +0( +-){4}$/, text)
    assert_match(/^0 +29 +28 +1 +1,024 +1,234,500 +9,000 +0 s +1\.20 ms$/, text)
  end

  def test_http_2_has_a_row
    counts = "connections 40, streams 31, requests 800,000, reset by clients 12, " \
             "by the server 5, refused 2"
    assert_match(/^HTTP\/2 +#{counts}$/, Report.new(document).to_s)
  end

  def test_downloads_by_what_became_of_them_and_by_the_way_they_were_sent
    text = Report.new(document).to_s
    counts = "active 3, queued 1, threads busy 2, complete 1,500, not modified 70, refused 4, " \
             "missing 5, aborted 6, timed out 7, shrunk 8, stopped 9"
    assert_match(/^downloads +#{counts}$/, text)
    assert_match(/^first byte +p50 340 µs, p99 51\.2 ms$/, text)
    assert_match(%r{^speed +p50 1\.00 MB/s, p90 12\.0 MB/s$}, text)
    assert_match(/^files sent by +complete +bytes +steps$/, text)
    assert_match(/^auto +1,400 +5\.20 GB +9,100$/, text)
    assert_match(/^eba +100 +12\.0 MB +200$/, text)
    refute_match(/^sba/, text)
  end

  def test_handshakes_and_certificates
    text = Report.new(document).to_s
    assert_includes text, "full 1,500, resumed 300, failed 3 (plain 2, client unknown 1); " \
                          "TLS 1.2: 200, TLS 1.3: 1,600\n"
    assert_match(/^certificate +key +address +expires +left$/, text)
    assert_match(%r{^example\.org +EC +https://0\.0\.0\.0:443 +2026-12-21T20:00:00Z +30 days 4 h$},
                 text)
    assert_match(/^example\.org +RSA .* +expired$/, text)
  end

  def test_workers_have_their_process_and_its_memory
    executors = [{ "id" => 0, "pid" => 4712, "rss_bytes" => 80_100_000 }, { "id" => 1 },
                 { "id" => 0, "pid" => 4713, "retiring" => true }]
    text = Report.new(Document.new({ "executors" => executors })).to_s
    assert_match(/^executor .* lag p99 +process +resident$/, text)
    assert_match(/^0 .* 4712 +80\.1 MB$/, text)
    assert_match(/^1 .* \? +-$/, text)
    assert_match(/^0 \(old\) .* 4713 +-$/, text)
  end

  def test_pools_have_a_table
    minute = { "demand_max" => 9, "acquired" => 62, "waited" => 38, "waited_s" => 4.56 }
    pool = { "worker" => 1, "kind" => "sequel", "name" => "shop", "size" => 5, "in_use" => 5,
             "waiting" => 3, "last_minute" => minute, "would_do" => 9 }
    text = Report.new(Document.new({ "pools" => [pool] })).to_s
    assert_match(/^pool +kind +worker +in use +waiting +wanted +had to wait +each +would do$/, text)
    assert_match(/^shop +sequel +1 +5 of 5 +3 +9 +61 % +120 ms +9$/, text)
  end

  def test_requests_that_were_sent_to_a_lane_are_named
    learned = [{ "method" => "GET", "path" => "/reports/0", "left_s" => 59.5 }]
    text = Report.new(Document.new({ "lanes" => { "learned" => learned } })).to_s
    assert_match(/^lanes learned +for$/, text)
    assert_match(%r{^GET /reports/0 +59\.5 s$}, text)
  end

  def test_slow_clients_are_listed
    clients = [
      { "address" => "10.0.0.7", "port" => 5000, "protocol" => "http/1.1", "age_s" => 75.5,
        "sent_bytes" => 1_500_000, "left_bytes" => 20_000_000, "bytes_per_second" => 20_000,
        "algorithm" => "sba" },
      { "address" => "::1", "port" => 5001, "protocol" => "h2", "age_s" => 3.2,
        "bytes_per_second" => 900, "limit_bytes_per_second" => 1_000 },
      { "protocol" => "http/1.1" }
    ]
    slow = { "count" => 1_204, "complete" => false, "clients" => clients }
    text = Report.new(Document.new({ "slow_clients" => slow })).to_s
    assert_match(/^slow client +protocol +sent by +for +taken +left +speed$/, text)
    assert_match(%r{^10\.0\.0\.7:5000 +HTTP/1\.1 +sba +1 min 15 s +1\.50 MB +20\.0 MB +20\.0 KB/s$},
                 text)
    assert_match(%r{^\[::1\]:5001 +HTTP/2 +the I/O loop +3 s +- +- +900 B/s of 1\.00 KB/s$}, text)
    assert_match(/^UNIX socket +HTTP/, text)
    assert_match(/^and at least 1,201 more$/, text)
  end

  def test_a_server_without_slow_clients_has_no_table_of_them
    slow = { "count" => 0, "complete" => true, "clients" => [] }
    refute_match(/slow client/, Report.new(Document.new({ "slow_clients" => slow })).to_s)
  end

  def test_what_a_server_does_not_have_is_left_out_or_a_dash
    assert_equal "NeverBlock ? on Ruby ?, process ?\nstate         unknown, up -\n",
                 Report.new(Document.new({})).to_s
    sparse = Document.new(
      {
        "state" => "running", "memory" => { "rss_bytes" => 5 },
        "latency_s" => { "run" => { "count" => 1 } }, "new" => { "x" => 1 }
      }
    )
    text = Report.new(sparse).to_s
    assert_match(/^memory +resident 5 B, spooled -, responses -, live objects -$/, text)
    assert_match(/^run +1( +-){4}$/, text)
    refute_match(/^(queue|DNS|GC|requests)/, text)
  end

  # Every part of the document, replaced by each of these in turn.
  def test_no_document_breaks_it
    Figures::DOCUMENT.each_key do |name|
      [nil, 7, "x", [], {}, [nil, 1, {}], { "p50" => "x", "run" => [] }, true].each do |value|
        changed = Document.new(Figures::DOCUMENT.merge(name => value))
        assert_kind_of String, Report.new(changed).to_s
      end
    end
  end
end
