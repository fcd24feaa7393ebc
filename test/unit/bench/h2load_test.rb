# frozen_string_literal: true

require_relative "bench_case"

class BenchH2loadTest < BenchCase
  def test_the_summary_of_a_run_is_read
    outcome = H2load.parse(sample("h2load_good"), seconds: 2, cpu_seconds: 1.5)
    assert_equal [182_840, 2.0, 6_766_340, 1.5],
                 [outcome.requests, outcome.seconds, outcome.bytes, outcome.cpu_seconds]
    assert_equal({ "max" => 223_150.0, "mean" => 10_650.0 }, outcome.latency_us)
  end

  def test_each_failed_request_is_one_error_of_its_kind
    outcome = H2load.parse(sample("h2load_good"), seconds: 2)
    assert_equal({ "status" => 5, "failed" => 0, "read" => 3, "timeout" => 2 }, outcome.errors)
    assert_in_delta (182_840 - 5) / 2.0, outcome.rate, 0.01, "refusals are no answers"
  end

  def test_a_run_without_a_summary_is_an_error_that_says_what_h2load_said
    error = assert_raises(Error) { H2load.parse("[ERROR] Could not resolve\n", seconds: 1) }
    assert_includes error.message, "Could not resolve"
  end

  def test_the_command_says_connections_streams_time_and_path
    load = Streams.new(connections: 10, streams: 100, path: "/a")
    assert_equal %w[h2load -t 1 -c 10 -m 100 -D 3 https://127.0.0.1:1/a],
                 H2load.new.command(load, "https://127.0.0.1:1", 2.5)
  end
end
