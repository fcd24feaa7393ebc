# frozen_string_literal: true

# Clients that take too long. Transfers are judged by progress, heads by their total time, and an application that takes its time by nothing at all.

require "tempfile"

require_relative "../support/server_process_case"

class TimeoutsTest < ServerProcessCase
  HEADER_MS = 300
  BODY_MS = 400
  IDLE_MS = 350
  RATE_MIN = 2000
  # How much later than due an end may come on a busy machine.
  SLACK_S = 2.0

  def self.server_options
    { settings: { header_timeout_ms: HEADER_MS, body_timeout_ms: BODY_MS, idle_timeout_ms: IDLE_MS, rate_min: RATE_MIN, fibers: 32 } }
  end

  def setup
    skip "the settings are NeverBlock's own" unless neverblock?
  end

  # @return [Float] seconds the block took
  def seconds
    before = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - before
  end

  # The pace of a slow client: waits that long unless the server has something to say.
  # @return [Boolean] whether it has
  def pace(client, seconds)
    !client.socket.wait_readable(seconds).nil?
  end

  def assert_408(client)
    response = client.response(method: "POST")
    assert_equal 408, response.status
    assert response.announces_close?
    assert_match(%r{\Atext/plain}, response["content-type"])
    assert_equal :eof, client.ending
  end

  def test_half_a_head_is_answered_with_408 # RFC 9110 section 15.5.9
    connect do |client|
      client.write("GET / HTTP/1.1\r\nHost: te")
      took = seconds { assert_408(client) }
      assert_in_delta HEADER_MS / 1000.0, took, SLACK_S
      assert_operator took, :>=, HEADER_MS / 1000.0 * 0.7, "too early"
    end
  end

  def test_a_head_that_drips_has_a_total_time # a timer for each byte is defeated by a byte each time it is nearly up
    connect do |client|
      took = seconds do
        "GET / HTTP/1.1\r\nX: #{"a" * 200}".each_char { |byte| break if !client.write(byte) || pace(client, 0.05) }
        assert_408(client)
      end
      assert_operator took, :<, (HEADER_MS / 1000.0) + SLACK_S
    end
  end

  def test_a_connection_that_says_nothing_is_ended
    connect do |client|
      took = seconds do
        response = client.response
        assert_equal 408, response.status
      rescue Wire::Cut
        nil # an end without a word is fine: nobody asked anything
      end
      assert_operator took, :<, ([HEADER_MS, IDLE_MS].max / 1000.0) + SLACK_S
    end
  end

  def test_an_idle_connection_is_ended_without_a_word # RFC 9112 section 9.5
    connect do |client|
      client.get("/")
      client.response
      took = seconds { assert_equal :eof, client.ending }
      assert_in_delta IDLE_MS / 1000.0, took, SLACK_S
      assert_operator took, :>=, IDLE_MS / 1000.0 * 0.7, "too early"
    end
  end

  def test_the_idle_time_starts_again_with_each_request
    connect do |client|
      8.times do
        client.get("/")
        assert_equal "hello", client.response.body
        refute pace(client, 0.1)
      end
    end
  end

  def test_half_a_head_after_a_request_is_answered_with_408
    connect do |client|
      client.write("#{request("/")}GET /half")
      assert_equal "hello", client.response.body
      assert_408(client)
    end
  end

  def test_a_body_that_stops_is_answered_with_408
    tag = new_tag
    connect do |client|
      client.write("POST /upload?tag=#{tag} HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\nabc")
      assert_408(client)
    end
    assert_empty events.all("call", tag)
  end

  def test_a_body_below_the_least_rate_is_answered_with_408_however_steadily_it_drips
    connect do |client|
      took = seconds do
        client.write("POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n")
        1000.times { break if !client.write("x") || pace(client, 0.05) }
        assert_408(client)
      end
      assert_operator took, :<, (2 * BODY_MS / 1000.0) + SLACK_S
    end
  end

  def test_a_chunked_body_that_drips_framing_only_is_answered_with_408
    connect do |client|
      client.write("POST /upload HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
      "5;#{"a" * 900}".each_char { |byte| break if !client.write(byte) || pace(client, 0.05) }
      assert_408(client)
    end
  end

  def test_a_body_above_the_least_rate_may_take_as_long_as_it_needs
    connect do |client|
      parts = 20
      part = "x" * 400 # 8000 bytes a second
      client.write("POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: #{parts * part.bytesize}\r\n\r\n")
      took = seconds { parts.times { client.write(part) && pace(client, 0.05) } }
      assert_operator took, :>, BODY_MS / 1000.0
      assert_equal parts * part.bytesize, parsed(client.response(method: "POST"))["bytes"]
    end
  end

  def test_a_reader_that_stops_is_cut_and_the_body_closed
    tag = new_tag
    connect(receive_buffer_bytes: 8192) do |client|
      client.get("/big_each?tag=#{tag}")
      events.await("close", tag, seconds: (2 * BODY_MS / 1000.0) + SLACK_S + 3)
      assert_equal "hello", ask("/").body
    end
  end

  def test_a_file_reader_that_stops_is_cut
    tag = new_tag
    Tempfile.create("neverblock") do |file|
      file.truncate(50_000_000)
      connect(receive_buffer_bytes: 8192) do |client|
        client.write(request("/file?tag=#{tag}", "X-File: #{file.path}"))
        client.take(1000)
        pace_out = seconds { wait_until_cut(client) }
        assert_operator pace_out, :<, (3 * BODY_MS / 1000.0) + SLACK_S
      end
    end
  end

  # The end cannot be seen without reading, and reading is progress: the kernel knows (tcp(7), TCP_INFO: state 1 is established).
  def wait_until_cut(client)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 10
    while client.socket.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_INFO).data.unpack1("C") == 1
      flunk "still connected" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

      sleep 0.01
    end
  end

  def test_a_reader_above_the_least_rate_may_take_as_long_as_it_needs
    connect(receive_buffer_bytes: 8192) do |client|
      client.get("/big_each?tag=#{new_tag}")
      took = seconds do
        until client.take_line.empty?; end
        40.times { client.take(20_000) && IO.select(nil, nil, nil, 0.03) }
      end
      assert_operator took, :>, 2 * BODY_MS / 1000.0
      client.take(1 << 20)
    end
  end

  def test_an_application_may_take_its_time
    connect do |client|
      client.get("/sleep_ms?ms=#{3 * [HEADER_MS, BODY_MS, IDLE_MS].max}")
      assert_match(/\Aslept/, client.response.body)
      client.get("/")
      assert_equal "hello", client.response.body
    end
  end

  def test_a_hundred_slow_clients_do_not_delay_a_quick_one
    slow = Array.new(100) { Wire::Client.new(server.url).tap { |client| client.write("GET / HTTP/1.1\r\nHost: te") } }
    assert_operator(seconds { 20.times { assert_equal "hello", ask("/").body } }, :<, 2)
    slow.each { |client| assert_equal 408, client.response.status }
  ensure
    slow&.each(&:close)
  end
end

# What a drain may cost.
class TimeoutsShutdownTest < Minitest::Test
  def test_a_request_that_does_not_end_is_cut_when_the_time_is_up
    skip "the settings are NeverBlock's own" unless ServerProcess.server_name == "neverblock"
    Dir.mktmpdir do |directory|
      path = File.join(directory, "events")
      server = ServerProcess.new(ServerProcessCase.app, settings: { shutdown_timeout_ms: 300 }, env: { "NB_TEST_EVENTS" => path }).start
      Wire::Client.open(server.url) do |client|
        client.get("/wait?gate=never&tag=never")
        AppEvents::Reader.new(path).await("waiting", "never")
        Process.kill("TERM", server.pid)
        assert_raises(Wire::Cut) { client.response }
      end
      refute_nil server.wait(10), "still running"
    ensure
      server&.kill
    end
  end
end
