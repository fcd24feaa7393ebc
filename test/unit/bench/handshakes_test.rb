# frozen_string_literal: true

require_relative "bench_case"
require_relative "../../support/self_signed_certificate"
require_relative "../../support/server_process"

class BenchHandshakesTest < BenchCase
  TestServer = ::ServerProcess # the benchmarks have a class of that name

  def setup
    @home = Dir.mktmpdir
  end

  def teardown
    FileUtils.rm_rf(@home)
  end

  def test_connections_and_bytes_and_handshakes_of_the_other_kind_are_read
    outcome = HandshakeClient.parse("2000000 11 1 1243\n", cpu_seconds: 0.7)
    assert_equal [11, 5.5, 1243, { "other handshake" => 1 }, 0.7],
                 [outcome.requests, outcome.rate, outcome.bytes, outcome.errors,
                  outcome.cpu_seconds]
  end

  def test_output_that_is_not_whole_is_an_error_that_says_what_the_program_said
    ["handshakes: connect: Connection refused\n", "", "1 2 3\n"].each do |text|
      error = assert_raises(Error) { HandshakeClient.parse(text) }
      assert_includes error.message, "the load generator failed: #{text.lines.last&.strip}"
    end
  end

  # Against the checkout's own server.
  def test_each_kind_of_handshake_with_a_request_and_without
    app = "run ->(_) { [200, { 'content-type' => 'text/plain' }, ['x' * 1_000]] }"
    certificate = SelfSignedCertificate.new.write(@home)
    client = HandshakeClient.new(home: @home)
    TestServer.run(app, binds: ["https://127.0.0.1:0?#{certificate}"]) do |server|
      [true, false].product([nil, "/"]) do |resumed, path|
        load = Handshakes.new(resumed: resumed, path: path)
        outcome = client.run(load, url: server.url, seconds: 0.2)
        assert_equal({ "other handshake" => 0 }, outcome.errors, load)
        assert_operator outcome.requests, :>, 0, load
        assert_operator outcome.bytes, path ? :> : :==, path ? outcome.requests * 1_000 : 0, load
      end
    end
  end
end
