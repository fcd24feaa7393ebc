# frozen_string_literal: true

# Clients that take too long. Transfers are judged by progress, heads by their total time, and an
# application that takes its time by nothing at all.

require "tempfile"

require_relative "../support/server_process_case"

class TimeoutsTest < ServerProcessCase
  # Nothing here is late: what comes is awaited, and shown to come before a client that goes on for
  # ever has ended.
  FOR_EVER = 2000

  def setup
    skip "the settings are NeverBlock's own" unless neverblock?
    @longest = 0
    @last = now
  end

  # @return [Float] seconds the block took
  def seconds
    before = now
    yield
    now - before
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # The pace of a slow client: waits that long unless the server has something to say.
  # @return [Boolean] whether it has
  def pace(client, seconds)
    ready = client.socket.wait_readable(seconds)
    @longest = [@longest, now - @last].max
    @last = now
    !ready.nil?
  end

  # A client that stands still itself, because the machine does, is ended rightly, and shows
  # nothing: then it begins anew.
  def keeping_pace(limit_ms, **options, &block)
    @longest = 0
    @last = now
    connect(**options, &block)
  rescue Minitest::Assertion, Wire::Error
    raise if [@longest, now - @last].max < limit_ms / 2000.0

    retry
  end

  def assert_408(client)
    response = client.response(method: "POST")
    assert_equal 408, response.status
    assert Over.http2? || response.announces_close?
    assert_match(%r{\Atext/plain}, response["content-type"])
    assert_equal :eof, client.ending
  end

  # Sends byte after byte, each in good time, until the server answers.
  def drip(client, bytes)
    answered = bytes.each_char.any? { |byte| !client.write(byte) || pace(client, 0.05) }
    assert answered, "it was never answered"
  end
end

# Limits that are soon over.
class TimeoutsSoonTest < TimeoutsTest
  HEADER_MS = 300
  BODY_MS = 400
  RATE_MIN = 2000

  def self.server_options
    {
      settings: {
        header_timeout_ms: HEADER_MS, body_timeout_ms: BODY_MS, idle_timeout_ms: 350,
        rate_min: RATE_MIN, fibers: 32
      }
    }
  end

  def test_half_a_head_is_answered_with_408 # RFC 9110 section 15.5.9
    only_over :plain, :tls, "HTTP/2 has no half of a head: frames come whole"
    took = seconds do
      connect do |client|
        client.write("GET / HTTP/1.1\r\nHost: te")
        assert_408(client)
      end
    end
    assert_operator took, :>=, HEADER_MS / 1000.0 * 0.7, "too early"
  end

  # A timer for each byte is defeated by a byte each time it is nearly up.
  def test_a_head_that_drips_has_a_total_time
    only_over :plain, :tls, "HTTP/2 has no half of a head: frames come whole"
    connect do |client|
      drip(client, "GET / HTTP/1.1\r\nX: #{"a" * FOR_EVER}")
      assert_408(client)
    end
  end

  def test_a_connection_that_says_nothing_is_ended
    connect do |client|
      assert_equal 408, client.response.status
    rescue Wire::Cut
      nil # an end without a word is fine: nobody asked anything
    end
  end

  def test_half_a_head_after_a_request_is_answered_with_408
    only_over :plain, :tls, "HTTP/2 has no half of a head: frames come whole"
    keeping_pace(HEADER_MS) do |client|
      client.write("#{request("/")}GET /half")
      assert_equal "hello", client.response.body
      assert_408(client)
    end
  end

  def test_a_body_that_stops_is_answered_with_408
    tag = new_tag
    connect do |client|
      client.write("POST /upload?tag=#{tag} HTTP/1.1\r\nHost: test\r\n" \
                   "Content-Length: 1000\r\n\r\nabc")
      assert_408(client)
    end
    assert_empty events.all("call", tag)
  end

  def test_a_body_below_the_least_rate_is_answered_with_408_however_steadily_it_drips
    connect do |client|
      client.write("POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: #{2 * FOR_EVER}\r\n\r\n")
      drip(client, "x" * FOR_EVER)
      assert_408(client)
    end
  end

  def test_a_chunked_body_that_drips_framing_only_is_answered_with_408
    only_over :plain, :tls, "HTTP/2 has no chunks"
    connect do |client|
      client.write("POST /upload HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
      drip(client, "5;#{"a" * 900}")
      assert_408(client)
    end
  end
end

# Limits that leave a client of a busy machine its time, with one for heads that is never over.
class TimeoutsLaterTest < TimeoutsTest
  BODY_MS = 1000
  IDLE_MS = 1000
  RATE_MIN = 2000

  def self.server_options
    {
      settings: {
        header_timeout_ms: 1000 * Patience::SECONDS, body_timeout_ms: BODY_MS,
        idle_timeout_ms: IDLE_MS, rate_min: RATE_MIN, fibers: 32
      }
    }
  end

  def test_an_idle_connection_is_ended_without_a_word # RFC 9112 section 9.5
    connect do |client|
      took = seconds do
        client.get("/")
        client.response
        assert_equal :eof, client.ending
      end
      assert_operator took, :>=, IDLE_MS / 1000.0 * 0.7, "too early"
    end
  end

  def test_the_idle_time_starts_again_with_each_request
    keeping_pace(IDLE_MS) do |client|
      8.times do
        client.get("/")
        assert_equal "hello", client.response.body
        refute pace(client, 0.2)
      end
    end
  end

  def test_a_body_above_the_least_rate_may_take_as_long_as_it_needs
    keeping_pace(BODY_MS) do |client|
      parts = 30
      part = "x" * 400 # 8000 bytes a second
      client.write("POST /upload HTTP/1.1\r\nHost: test\r\n" \
                   "Content-Length: #{parts * part.bytesize}\r\n\r\n")
      took = seconds { parts.times { client.write(part) && pace(client, 0.05) } }
      assert_equal parts * part.bytesize, parsed(client.response(method: "POST"))["bytes"]
      assert_operator took, :>, BODY_MS / 1000.0
    end
  end

  def test_a_reader_that_stops_is_cut_and_the_body_closed
    tag = new_tag
    connect(receive_buffer_bytes: 8192) do |client|
      client.get("/big_each?tag=#{tag}")
      events.await("close", tag)
      assert_equal "hello", ask("/").body
    end
  end

  def test_a_file_reader_that_stops_is_cut
    only_over :plain, :tls, "of HTTP/2 the stream is reset, and its connection goes on"
    tag = new_tag
    Tempfile.create("neverblock") do |file|
      file.truncate(50_000_000)
      connect(receive_buffer_bytes: 8192) do |client|
        client.write(request("/file?tag=#{tag}", "X-File: #{file.path}"))
        client.take(1000)
        wait_until_cut(client)
      end
    end
  end

  # The end cannot be seen without reading, and reading is progress. The kernel knows (tcp(7),
  # TCP_INFO: state 1 is established).
  def wait_until_cut(client)
    limit = now + Patience::SECONDS
    while client.socket.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_INFO).data.unpack1("C") == 1
      flunk "still connected" if now > limit

      sleep 0.01
    end
  end

  def test_a_reader_above_the_least_rate_may_take_as_long_as_it_needs
    keeping_pace(BODY_MS, receive_buffer_bytes: 8192) do |client|
      client.get("/big_each?tag=#{new_tag}")
      took = seconds do
        until client.take_line.empty?; end
        70.times do
          client.take(20_000)
          sleep 0.03
          pace(client, 0)
        end
      end
      client.take(1 << 20)
      assert_operator took, :>, 2 * BODY_MS / 1000.0
    end
  end

  def test_an_application_may_take_its_time
    keeping_pace(IDLE_MS) do |client|
      client.get("/sleep_ms?ms=#{2 * [BODY_MS, IDLE_MS].max}")
      assert_match(/\Aslept/, client.response.body)
      pace(client, 0)
      @longest = 0 # that was the application's
      client.get("/")
      assert_equal "hello", client.response.body
    end
  end

  def test_a_hundred_slow_clients_do_not_delay_a_quick_one
    only_over :plain, :tls, "HTTP/2 has no half of a head: frames come whole"
    slow = Array.new(100) do
      Wire::Client.new(server.url).tap { |client| client.write("GET / HTTP/1.1\r\nHost: te") }
    end
    20.times { assert_equal "hello", ask("/").body }
    assert slow.none? { |client| client.socket.wait_readable(0) }, "they were not slow"
    slow.each { |client| client.write("st\r\n\r\n") }
    slow.each { |client| assert_equal "hello", client.response.body }
  ensure
    slow&.each(&:close)
  end
end

# A process that stood still is late for what clients have sent in time.
class TimeoutsPauseTest < Minitest::Test
  CLIENTS = 300
  IDLE_S = 1

  # All are idle for longer than they may be when the process goes on, and none has been read.
  def test_requests_that_came_while_the_process_stood_still_are_answered
    skip "the settings are NeverBlock's own" unless ServerProcess.server_name == "neverblock"
    server = ServerProcess.new(ServerProcessCase.app, settings: { idle_timeout_ms: IDLE_S * 1_000 })
    server.start
    clients = Array.new(CLIENTS) { Wire::Client.new(server.url) }
    ask_all(clients)
    Process.kill("STOP", server.pid)
    clients.each { |client| client.get("/hello") }
    sleep(IDLE_S + 0.2)
    Process.kill("CONT", server.pid)
    assert_equal [200], clients.map { |client| client.response.status }.uniq
  ensure
    clients&.each(&:close)
    server&.kill
  end

  private

  def ask_all(clients)
    clients.each { |client| client.get("/hello") }
    clients.each(&:response)
  end
end

# What a drain may cost.
class TimeoutsShutdownTest < Minitest::Test
  def test_a_request_that_does_not_end_is_cut_when_the_time_is_up
    skip "the settings are NeverBlock's own" unless ServerProcess.server_name == "neverblock"
    Dir.mktmpdir do |directory|
      path = File.join(directory, "events")
      server = ServerProcess.new(
        ServerProcessCase.app, settings: { shutdown_timeout_ms: 300 },
        env: { "NB_TEST_EVENTS" => path }
      ).start
      Wire::Client.open(server.url) do |client|
        client.get("/wait?gate=never&tag=never")
        AppEvents::Reader.new(path).await("waiting", "never")
        Process.kill("TERM", server.pid)
        assert_raises(Wire::Cut) { client.response }
      end
      refute_nil server.wait(Patience::SECONDS), "still running"
    ensure
      server&.kill
    end
  end
end
