# frozen_string_literal: true

require_relative "bench_case"

class BenchHandshakesTest < BenchCase
  def test_connections_are_counted_and_those_that_did_not_resume_are_errors
    load = Handshakes.new(resumed: true, path: "/")
    outcome = HandshakeClient.parse(sample("s_time_reuse"), load, seconds: 2, cpu_seconds: 0.7)
    assert_equal [11, 5.5, 11 * 113, { "other handshake" => 1 }, 0.7],
                 [outcome.requests, outcome.rate, outcome.bytes, outcome.errors,
                  outcome.cpu_seconds]
  end

  def test_a_run_without_a_summary_is_an_error_that_says_what_openssl_said
    error = assert_raises(Error) do
      HandshakeClient.parse(sample("s_time_refused"), Handshakes.new, seconds: 1)
    end
    assert_includes error.message, "Connection refused"
  end

  def test_the_command_says_address_kind_time_and_path
    client = HandshakeClient.new
    assert_equal %w[openssl s_time -connect 127.0.0.1:7 -new -time 2],
                 client.command(Handshakes.new, "https://127.0.0.1:7", 1.5)
    assert_equal %w[openssl s_time -connect 127.0.0.1:7 -reuse -time 1 -www /],
                 client.command(Handshakes.new(resumed: true, path: "/"), "https://127.0.0.1:7", 1)
  end
end
