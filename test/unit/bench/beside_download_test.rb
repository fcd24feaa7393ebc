# frozen_string_literal: true

require_relative "bench_case"
require_relative "../../support/self_signed_certificate"
require_relative "../../support/server_process"

class BenchBesideDownloadTest < BenchCase
  TestServer = ::ServerProcess # the benchmarks have a class of that name

  def setup
    @home = Dir.mktmpdir
  end

  def teardown
    FileUtils.rm_rf(@home)
  end

  def test_times_of_the_small_file_bytes_of_the_large_one_and_failures_are_read
    times = (1..100).to_a.shuffle
    outcome = BesideDownload.parse("2000000 5000 3\n#{times.join("\n")}\n", cpu_seconds: 0.5)
    assert_equal [100, 2.0, 5000, { "failed" => 3 }, 0.5],
                 [outcome.requests, outcome.seconds, outcome.bytes, outcome.errors,
                  outcome.cpu_seconds]
    assert_equal({ "p50" => 51, "p90" => 90, "p99" => 99, "p99.9" => 100, "mean" => 50.5,
                   "max" => 100 }, outcome.latency_us)
  end

  def test_output_that_is_not_whole_is_an_error_that_says_what_the_program_said
    ["beside_download: connect: refused\n", "", "1 2 3\n"].each do |text|
      error = assert_raises(Error) { BesideDownload.parse(text) }
      assert_includes error.message, "the load generator failed: #{text.lines.last&.strip}"
    end
  end

  # Against the checkout's own server, over TLS.
  def test_it_downloads_and_asks_meanwhile
    app = "run ->(env) { [200, {}, ['x' * (env['PATH_INFO'] == '/large' ? 20_000_000 : 1_000)]] }"
    TestServer.run(app, binds: ["https://127.0.0.1:0?#{certificate}"]) do |server|
      load = Beside.new(large: "/large", small: "/small", interval_us: 20_000)
      outcome = BesideDownload.new(home: @home).run(load, url: server.url, seconds: 1)
      assert_equal [50, { "failed" => 0 }], [outcome.requests, outcome.errors]
      assert_operator outcome.bytes, :>, 0
    end
  end

  private

  def certificate
    SelfSignedCertificate.new.write(@home)
  end
end
