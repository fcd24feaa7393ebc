# frozen_string_literal: true

# Many requests at once, many on one connection, and connections that end in odd ways (RFC 9112
# section 9).

require "socket"

require_relative "../support/gate"
require_relative "../support/server_process_case"

class ConnectionsTest < ServerProcessCase
  CROWD = 200

  def self.server_options
    { options: ["-f", "256"] }
  end

  # Sends the request on as many connections before it takes the first answer.
  def crowd(count, target, *fields)
    clients = Array.new(count) { Wire::Client.new(server.url) }
    clients.each { |client| client.write(request(target, *fields)) }
    clients.map(&:response)
  ensure
    clients&.each(&:close)
  end

  def assert_all_hello(responses, count)
    assert_equal({ [200, "hello"] => count },
                 responses.map { |response| [response.status, response.body] }.tally)
  end

  def test_two_hundred_requests_wait_in_a_queue_together
    assert_all_hello crowd(CROWD, "/barrier?all=#{CROWD}&tag=#{new_tag}"), CROWD
  end

  def test_two_hundred_requests_sleep_together
    assert_all_hello crowd(CROWD, "/barrier_by_sleep?all=#{CROWD}&tag=#{new_tag}"), CROWD
  end

  # A service that answers nobody before everybody has asked.
  def with_service(count)
    listener = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new do
      sockets = Array.new(count) { listener.accept.tap { |socket| socket.readpartial(4096) } }
      sockets.each do |socket|
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        socket.close
      end
    end
    yield "http://localhost:#{listener.local_address.ip_port}/"
  ensure
    thread&.kill
    listener&.close
  end

  def test_two_hundred_requests_wait_for_a_service_by_name_together
    with_service(CROWD) { |url| assert_all_hello crowd(CROWD, "/fetch", "X-URL: #{url}"), CROWD }
  end

  def test_a_service_that_never_answers_makes_nobody_else_wait
    silent = TCPServer.new("127.0.0.1", 0)
    connect do |client|
      client.write(request("/fetch", "X-URL: http://localhost:#{silent.local_address.ip_port}/"))
      socket = silent.accept
      20.times { assert_equal "hello", ask("/").body }
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone")
      assert_equal "done", client.response.body
    end
  ensure
    silent&.close
  end

  {
    fiber: "ab", enumerator: "012", scheduled_fiber: "scheduled",
    thread: "thread", lock: "locked", child: "child"
  }.each do |kind, body|
    define_method("test_a_request_may_wait_in_or_for_a_#{kind}") do
      waits_for = %i[scheduled_fiber thread child].include?(kind)
      responses = crowd(20, waits_for ? "/waits_for_#{kind}" : "/waits_in_#{kind}")
      assert_equal({ [200, body] => 20 },
                   responses.map { |response| [response.status, response.body] }.tally)
    end
  end

  def test_a_wait_that_takes_too_long_can_be_ended_by_timeout
    responses = crowd(20, "/waits_too_long")
    assert_equal({ [200, "timed out"] => 20 },
                 responses.map { |response| [response.status, response.body] }.tally)
  end

  def test_more_requests_than_fibers_are_all_answered
    assert_equal [200] * 600, crowd(600, "/sleep_ms?ms=20").map(&:status)
  end

  def test_two_connections_do_not_disturb_each_other
    gate = new_tag
    connect do |first|
      first.get("/wait?gate=#{gate}&tag=#{gate}")
      events.await("waiting", gate)
      connect do |second|
        second.get("/")
        assert_equal "hello", second.response.body
        second.get("/open?gate=#{gate}")
        assert_equal "hello", second.response.body
      end
      assert_equal "waited #{gate}", first.response.body
    end
  end

  def test_pipelined_answers_come_in_the_order_of_their_requests # RFC 9112 section 9.3.2
    connect do |client|
      times = [60, 0, 30, 10, 0]
      client.write(times.map { |ms| request("/sleep_ms?ms=#{ms}") }.join)
      assert_equal(times.map { |ms| "slept #{ms}" }, times.map { client.response.body })
    end
  end

  # RFC 9112 section 9.3.2.
  def test_a_pipelined_request_that_changes_something_waits_for_those_before_it
    only_over :plain, :tls, "streams of HTTP/2 do not wait for each other"
    gate = new_tag
    connect do |client|
      client.write(request("/wait?gate=#{gate}&tag=#{gate}") +
                   request("/echo?tag=#{gate}post", method: "POST", body: "x"))
      events.await("waiting", gate)
      3.times { ask("/") }
      assert_empty events.all("call", "#{gate}post"), "a POST overtook the request before it"
      ask("/open?gate=#{gate}")
      assert_equal "waited #{gate}", client.response.body
      assert_equal "POST tag=#{gate}post x", client.response(method: "POST").body
    end
  end

  def test_a_hundred_pipelined_requests_are_answered_in_order
    connect do |client|
      client.write(Array.new(100) { |index| request("/echo?#{index}") }.join)
      assert_equal(Array.new(100) { |index| "GET #{index} " },
                   Array.new(100) { client.response.body })
    end
  end

  def test_a_thousand_requests_on_one_connection
    connect do |client|
      1000.times do |index|
        client.get("/echo?#{index}")
        response = client.response
        refute response.announces_close?
        assert_equal "GET #{index} ", response.body
      end
    end
  end

  def test_http_1_0_closes_unless_asked_to_go_on # RFC 9112 section 9.3
    only_over :plain, :tls, "HTTP/1.0"
    connect do |client|
      client.get("/", version: "1.0")
      assert client.response(version: "1.0").announces_close?("1.0")
      assert_equal :eof, client.ending
    end
  end

  def test_http_1_0_goes_on_when_asked # RFC 9112 appendix C.2.2
    only_over :plain, :tls, "HTTP/1.0"
    connect do |client|
      3.times do
        client.get("/", "Connection: Keep-Alive", version: "1.0")
        response = client.response(version: "1.0")
        assert_equal "keep-alive", response["connection"]&.downcase
        assert_equal "hello", response.body
      end
    end
  end

  def test_connection_close_is_honoured_in_any_case_and_list # RFC 9110 section 7.6.1
    only_over :plain, :tls, "HTTP/2 has no Connection field"
    ["close", "CLOSE", "foo, close", "close , keep-alive"].each do |value|
      connect do |client|
        client.get("/", "Connection: #{value}")
        assert client.response.announces_close?, value
        assert_equal :eof, client.ending
      end
    end
  end

  def test_a_client_that_stops_sending_still_gets_its_answer # RFC 9112 section 9.5
    connect do |client|
      client.get("/sleep_ms?ms=30")
      client.shutdown_write
      assert_equal "slept 30", client.response.body
      assert_equal :eof, client.ending
    end
  end

  def test_a_client_that_stops_sending_still_gets_all_its_answers
    connect do |client|
      client.write(request("/sleep_ms?ms=20") + request("/echo?b"))
      client.shutdown_write
      assert_equal ["slept 20", "GET b "], Array.new(2) { client.response.body }
      assert_equal :eof, client.ending
    end
  end

  def test_a_client_that_stops_sending_inside_a_request_is_not_waited_for
    connect do |client|
      client.write("GET / HTT")
      client.shutdown_write
      begin
        assert_equal 400, client.response.status
      rescue Wire::Cut
        nil
      end
      assert_includes %i[eof reset], client.ending
    end
  end

  def test_a_client_that_leaves_while_the_application_runs_disturbs_nobody
    gates = Array.new(20) { new_tag }
    gates.each do |gate|
      connect do |client|
        client.get("/wait?gate=#{gate}&tag=#{gate}")
        events.await("waiting", gate)
        client.abort
      end
    end
    assert_equal "hello", ask("/").body
    gates.each { |gate| ask("/open?gate=#{gate}") }
    assert_equal "hello", ask("/").body
  end

  def test_a_client_that_connects_and_leaves_disturbs_nobody
    50.times { connect(&:abort) }
    50.times { connect { |client| client.write("GET / HTTP/1.1\r\nHo") && client.abort } }
    assert_equal "hello", ask("/").body
  end

  def test_descriptors_are_given_back
    ask("/?tag=#{new_tag}")
    all = server.processes
    before = server.open_descriptors(of: all)
    crowd(50, "/")
    connect { |client| client.get("/endless?tag=#{new_tag}") && client.take_line && client.abort }
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Patience::SECONDS
    while server.open_descriptors(of: all) > before &&
          Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
      sleep 0.01
    end
    assert_operator server.open_descriptors(of: all), :<=, before
  end
end

# The same with requests shared out among two Ruby threads, each with a scheduler of its own. They
# meet in the application's queues and locks.
class ConnectionsTwoExecutorsTest < ConnectionsTest
  def self.server_options
    {
      settings: { executors: 2, fibers: 256 },
      options: ServerProcess.one_process("its two executors are threads of one process")
    }
  end

  def setup
    skip "executors are NeverBlock's own" unless neverblock?
  end
end

# Other ways in than TCP over IPv4.
class ConnectionsOtherAddressesTest < Minitest::Test
  APP = ServerProcessCase.app

  def setup
    @events = Dir.mktmpdir("neverblock-events")
  end

  def teardown
    FileUtils.rm_rf(@events)
  end

  def run_on(*binds, &block)
    env = { "NB_TEST_EVENTS" => File.join(@events, "events") }
    ServerProcess.run(APP, binds: binds, env: env, &block)
  end

  def get(url, target = "/")
    Wire::Client.open(url) do |client|
      client.get(target)
      client.response
    end
  end

  def test_a_unix_socket_serves_and_is_removed_at_the_end
    path = File.join(@events, "socket")
    run_on("unix://#{path}") do |server|
      assert_equal "unix://#{path}", server.url
      assert_equal "hello", get("unix://#{path}").body
      strings = JSON.parse(get("unix://#{path}", "/env").body)["strings"]
      assert_equal "localhost", strings["SERVER_NAME"]
      assert_kind_of String, strings["REMOTE_ADDR"]
    end
    refute File.exist?(path)
  end

  def test_a_stale_unix_socket_is_replaced
    path = File.join(@events, "socket")
    UNIXServer.new(path).close
    assert File.socket?(path)
    run_on("unix://#{path}") { assert_equal "hello", get("unix://#{path}").body }
  end

  def test_a_live_unix_socket_is_refused
    path = File.join(@events, "socket")
    other = UNIXServer.new(path)
    error = assert_raises(ServerProcess::Failed) { run_on("unix://#{path}") { flunk "started" } }
    assert_includes error.message, path
    assert File.socket?(path), "the socket of another process was removed"
  ensure
    other&.close
  end

  def test_the_mode_of_a_unix_socket_is_the_one_asked_for
    path = File.join(@events, "socket")
    run_on("unix://#{path}?mode=0600") do
      assert_equal "600", (File.stat(path).mode & 0o777).to_s(8)
    end
  end

  def test_ipv6
    run_on("http://[::1]:0") do |server|
      assert_match(%r{\A#{Over.scheme}://\[::1\]:\d+\z}, server.url)
      assert_equal "hello", get(server.url).body
      assert_equal "::1", JSON.parse(get(server.url, "/env").body)["strings"]["REMOTE_ADDR"]
    end
  end

  def test_several_addresses_at_once
    path = File.join(@events, "socket")
    run_on("http://127.0.0.1:0", "unix://#{path}", "http://127.0.0.1:0") do |server|
      assert_equal 3, server.urls.size
      server.urls.each { |url| assert_equal "hello", get(url).body }
    end
  end
end

# The end of the process: TERM and INT let requests end, take no new ones, and leave with status 0.
class ConnectionsDrainTest < Minitest::Test
  def with_server
    directory = Dir.mktmpdir("neverblock-events")
    path = File.join(directory, "events")
    gate = Gate.new
    server = ServerProcess.new(ServerProcessCase.app, env: { "NB_TEST_EVENTS" => path }).start
    yield server, gate
  ensure
    gate&.close
    server&.kill
    FileUtils.rm_rf(directory)
  end

  %w[TERM INT].each do |signal|
    define_method("test_#{signal}_without_requests_ends_at_once_with_0") do
      with_server { |server, _gate| assert_equal 0, server.stop(signal: signal).exitstatus }
    end
  end

  def test_an_idle_connection_is_ended_and_holds_nothing_up
    with_server do |server, _gate|
      Wire::Client.open(server.url) do |client|
        client.get("/")
        client.response
        Process.kill("TERM", server.pid)
        assert_equal :eof, client.ending
      end
      assert_equal 0, server.wait(Patience::SECONDS)&.exitstatus
    end
  end

  def test_nobody_is_let_in_any_more_and_a_request_that_runs_is_answered_before_the_end
    with_server do |server, gate|
      Wire::Client.open(server.url) do |client|
        client.get("/held?port=#{gate.port}")
        held = gate.arrival
        Process.kill("TERM", server.pid)
        await_refusal(server.url)
        held.close
        response = client.response
        assert_equal "let go", response.body
        assert Over.http2? || response.announces_close?,
               "the client was not told that the connection ends (RFC 9112 section 9.6)"
        assert_equal :eof, client.ending
      end
      assert_equal 0, server.wait(Patience::SECONDS)&.exitstatus
    end
  end

  def await_refusal(url)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Patience::SECONDS
    loop do
      Wire::Client.open(url, &:close)
      flunk "still accepts after TERM" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
    end
  rescue Errno::ECONNREFUSED, Errno::ECONNRESET
    nil
  end
end
