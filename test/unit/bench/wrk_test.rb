# frozen_string_literal: true

require_relative "bench_case"

class BenchWrkTest < BenchCase
  def test_the_summary_of_a_good_run_is_read
    outcome = Wrk.parse(sample("wrk_good"), cpu_seconds: 0.7)
    assert_equal [66_508, 1.10211, 10_574_452, 0],
                 [outcome.requests, outcome.seconds, outcome.bytes, outcome.error_count]
    assert_in_delta 60_346.06, outcome.rate, 0.01, "as wrk printed it"
    assert_equal [47, 667], outcome.latency_us.values_at("p50", "p99")
    assert_equal 0.7, outcome.cpu_seconds
  end

  def test_answers_of_400_and_above_are_errors
    outcome = Wrk.parse(sample("wrk_status_errors"))
    assert_equal 55_516, outcome.errors["status"]
    assert_equal 55_516, outcome.error_count
    assert_equal 0, outcome.rate, "refusals are no answers"
  end

  def test_a_pipelined_run_has_a_rate_and_no_latencies
    outcome = Wrk.parse(sample("wrk_pipelined"), pipeline: 16)
    assert_equal 82_416, outcome.requests
    assert_empty outcome.latency_us
  end

  def test_a_run_without_a_summary_is_an_error_that_says_what_wrk_said
    error = assert_raises(Error) { Wrk.parse(sample("wrk_connection_refused")) }
    assert_includes error.message, "unable to connect to 127.0.0.1:21888 Connection refused"
  end

  def test_the_command_says_threads_connections_time_and_path
    load = Load.new(connections: 1000, threads: 2, path: "/50")
    assert_equal %w[wrk -t2 -c1000 -d8s --timeout 600s -s S http://127.0.0.1:1/50],
                 Wrk.new.command(load, "http://127.0.0.1:1", 8, "S")
  end

  def test_part_of_a_second_is_rounded_up_because_wrk_takes_whole_ones
    assert_includes Wrk.new.command(Load.new(connections: 1), "http://127.0.0.1:1", 2.4, "S"),
                    "-d3s"
  end

  def test_only_a_pipelined_load_has_a_request_function
    refute_includes Wrk.script, "function request"
    assert_includes Wrk.script(pipeline: 16), "for i = 1, 16 do"
  end

  def test_a_real_run_sends_as_many_requests_at_once_as_asked
    skip "wrk is not installed" unless Wrk.version
    batches = Queue.new
    answering(batches) do |url|
      load = Load.new(connections: 1, pipeline: 4, path: "/x")
      seconds = 0
      outcome = nil # on a busy machine nothing is answered in a second
      until outcome&.requests&.positive?
        outcome = Wrk.new.run(load, url: url, seconds: seconds += 1)
      end
      assert_equal 0, outcome.error_count
      assert_operator outcome.cpu_seconds, :>=, 0
    end
    assert_equal 4, batches.pop
  end

  private

  # Answers each request with an empty 200, and tells how many came in the first read.
  def answering(batches)
    server = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new do
      socket = server.accept
      loop do
        count = socket.readpartial(65_536).scan("GET /x HTTP/1.1\r\n").size
        batches << count
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" * count)
      end
    rescue EOFError, SystemCallError
      retry
    end
    yield "http://127.0.0.1:#{server.addr[1]}"
  ensure
    thread&.kill&.join
    server&.close
  end
end
