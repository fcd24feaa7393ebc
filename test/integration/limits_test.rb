# frozen_string_literal: true

# What a server does at each of its limits: it says so early, loses nobody else, and recovers at
# once.

require_relative "../support/server_process_case"

# Sizes of one request.
class LimitsOfARequestTest < ServerProcessCase
  def self.server_options
    { settings: { body_bytes_max: 1000, header_bytes_max: 2000, headers_max: 10, fibers: 8 } }
  end

  def setup
    skip "the settings are NeverBlock's own" unless neverblock?
  end

  def test_a_body_at_the_limit_is_taken
    assert_equal 1000, parsed(ask("/upload", method: "POST", body: "x" * 1000))["bytes"]
    body = "3e8\r\n#{"x" * 1000}\r\n0\r\n\r\n"
    response = ask("/upload", "Transfer-Encoding: chunked", method: "POST", body: body)
    assert_equal 1000, parsed(response)["bytes"]
  end

  # RFC 9110 section 15.5.14.
  def test_a_length_over_the_limit_is_refused_before_a_byte_of_the_body_came
    tag = new_tag
    connect do |client|
      client.write("POST /upload?tag=#{tag} HTTP/1.1\r\nHost: test\r\nContent-Length: 1001\r\n\r\n")
      assert_equal 413, client.response(method: "POST").status
      assert_equal :eof, client.ending
    end
    assert_empty events.all("call", tag)
  end

  def test_a_chunked_body_is_refused_as_soon_as_it_is_over_the_limit
    tag = new_tag
    connect do |client|
      client.write("POST /upload?tag=#{tag} HTTP/1.1\r\nHost: test\r\n" \
                   "Transfer-Encoding: chunked\r\n\r\n3e9\r\n")
      client.write("x" * 1001)
      assert_equal 413, client.response(method: "POST").status
      assert_equal :eof, client.ending
    end
    assert_empty events.all("call", tag)
  end

  def test_a_head_over_its_bytes_is_refused_before_it_ends # RFC 6585 section 5
    only_over :plain, :tls, "HTTP/2 has no half of a head: frames come whole"
    connect do |client|
      client.write("GET / HTTP/1.1\r\nHost: test\r\nX: #{"a" * 2000}")
      assert_equal 431, client.response.status
      assert_equal :eof, client.ending
    end
  end

  def test_a_head_with_too_many_fields_is_refused
    assert_equal 200, ask("/", *Array.new(9) { |index| "X-#{index}: 1" }).status
    # Host is one of them, and no field of HTTP/2.
    more = Over.http2? ? 11 : 10
    assert_equal 431, ask("/", *Array.new(more) { |index| "X-#{index}: 1" }).status
  end
end

# Requests that wait for a fiber.
class LimitsQueueTest < ServerProcessCase
  FIBERS = 2
  CREDIT = 1
  QUEUE = 3
  CROWD = 30
  EXECUTORS = Integer(ENV.fetch("NB_TEST_WORKERS", "1"), 10)

  def self.server_options
    { settings: { fibers: FIBERS, credit: CREDIT, queue_max: QUEUE } }
  end

  def setup
    skip "the settings are NeverBlock's own" unless neverblock?
  end

  # RFC 9110 sections 15.6.4, 10.2.3.
  def test_what_the_queue_cannot_hold_is_answered_with_503_at_once_and_the_rest_in_time
    gate = new_tag
    assert_equal "hello", ask("/").body, "the executor has begun to ask"
    clients = Array.new(CROWD) { Wire::Client.new(server.url) }
    clients.each { |client| client.get("/wait?gate=#{gate}&tag=#{gate}") }
    shed = take_shed(clients)
    admitted = CROWD - shed.size
    # A burst may come before the executor has asked for more than its first.
    assert_operator admitted, :>=, QUEUE + 1
    assert_operator admitted, :<=, (EXECUTORS * (FIBERS + CREDIT)) + QUEUE + 1
    shed.each { |client, response| assert_shed(client, response) }
    release(gate, admitted)
    (clients - shed.keys).each { |client| assert_equal "waited #{gate}", client.response.body }
    assert_equal "hello", ask("/").body
  ensure
    release(gate, CROWD)
    clients&.each(&:close)
  end

  # Those that are answered though no gate was opened. A client that came after all of them has its
  # answer from the loop itself: by then everyone who will be answered has been.
  def take_shed(clients)
    clients.each do |client|
      assert Wire::Kernel.wait_until_peer_has_read(client.socket, Patience::SECONDS)
    end
    connect do |client|
      assert_equal 417, client.get("/", "Expect: else") && client.response.status
    end
    answered = clients.select { |client| client.socket.wait_readable(0) }
    answered.to_h { |client| [client, client.response] }
  end

  def assert_shed(client, response)
    assert_equal 503, response.status
    assert_match(/\A[0-9]+\z/, response["retry-after"].to_s)
    assert_match(%r{\Atext/plain}, response["content-type"])
    response.announces_close? ? assert_equal(:eof, client.ending) : refute(client.closed_by_server?)
  end

  # The gate is a queue in the application. It is opened from inside, one request after another,
  # since all fibers are taken.
  def release(gate, count)
    count.times { |number| File.write(server.in_directory("open-#{gate}-#{number}"), "") }
  end

  # An application whose gates are opened by files: with every fiber taken no request could open
  # one.
  def self.app
    <<~RACKUP
      require "#{File.expand_path("../support/app_rack", __dir__)}"
      class FileGates < RackApp
        HERE = __dir__
        def on_wait(env, tag)
          pattern = File.join(HERE, "open-\#{tag}-*")
          sleep 0.005 until (file = Dir[pattern].first) && File.delete(file)
          [200, text, ["waited \#{tag}"]]
        rescue SystemCallError
          retry # another request has deleted the file
        end
      end
      run FileGates.new
    RACKUP
  end
end

# Fibers are for requests that run: whoever is slow to send or to read holds none (RFC 9112 says
# nothing of it; issue 3 does).
class LimitsFibersTest < ServerProcessCase
  CROWD = 20

  def self.server_options
    { settings: { fibers: 2, credit: 1 } }
  end

  def setup
    skip "the settings are NeverBlock's own" unless neverblock?
  end

  def test_slow_senders_hold_no_fiber
    clients = Array.new(CROWD) { Wire::Client.new(server.url) }
    clients.each do |client|
      client.write("POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nabc")
    end
    5.times { assert_equal "hello", ask("/").body }
    clients.each { |client| client.write("defghij") }
    clients.each { |client| assert_equal 10, parsed(client.response(method: "POST"))["bytes"] }
  ensure
    clients&.each(&:close)
  end

  # The kernel takes a part. Over HTTP/2 it is no more than the client's window.
  def test_slow_readers_of_up_to_a_megabyte_hold_no_fiber
    bytes = Over.http2? ? 400_000 : 800_000
    clients = Array.new(CROWD) { Wire::Client.new(server.url, receive_buffer_bytes: 4096) }
    clients.each { |client| client.get("/bytes?count=#{bytes}") }
    5.times { assert_equal "hello", ask("/").body }
    clients.each { |client| assert_equal bytes, client.response.body.bytesize }
  ensure
    clients&.each(&:close)
  end

  def test_a_client_that_only_sends_is_not_read_for_ever # what it is owed would have to be kept
    only_over :plain, :tls, "HTTP/2 has a limit of streams"
    before = server.resident_bytes
    connect(receive_buffer_bytes: 4096) do |client|
      refute sends_without_end?(client.socket, request("/bytes?count=1000") * 1000),
             "the server reads on though nobody takes its answers"
      assert_operator server.resident_peak_bytes - before, :<, 32 << 20
      assert_equal "hello", ask("/").body
    end
  end

  def sends_without_end?(socket, bytes)
    sent = 0
    rest = bytes
    while sent < 64 << 20
      written = socket.write_nonblock(rest, exception: false)
      return false if written == :wait_writable && !socket.wait_writable(0.5)
      next unless written.is_a?(Integer)

      sent += written
      rest = rest.byteslice(written..)
      rest = bytes if rest.empty?
    end
    true
  end

  # All of them take six seconds, so that the other may come some of them late.
  def test_one_connection_full_of_requests_does_not_starve_another # CVE-2019-16770, CVE-2021-29509
    only_over :plain, :tls, "HTTP/2 has a limit of streams"
    many = 3000
    tag = new_tag
    connect do |busy|
      busy.write(Array.new(many) { request("/sleep_ms?ms=4&tag=#{tag}") }.join)
      assert_equal "slept 4", busy.response.body
      assert_equal "hello", ask("/?tag=#{tag}.other").body
      before = events.all("call", tag).size
      assert_operator before, :<, many, "the other connection was served last"
      (many - 1).times { assert_equal "slept 4", busy.response.body }
    end
  end
end

# Connections and descriptors.
class LimitsConnectionsTest < ServerProcessCase
  CONNECTIONS = 10

  def self.server_options
    { settings: { connections_max: CONNECTIONS, fibers: 32, shutdown_timeout_ms: 2000 } }
  end

  def setup
    skip "the settings are NeverBlock's own" unless neverblock?
  end

  # @return [Wire::Response, nil] nil when the connection was ended without an answer
  def answer_on(client)
    client.get("/")
    client.response_or_end
  end

  def open_clients(count)
    Array.new(count) { Wire::Client.new(server.url) }
  end

  # Turned away at once or left waiting in the queue of the kernel, both is fine; but never served
  # beside the others.
  def test_a_connection_past_the_limit_is_not_served_while_the_others_work
    only_over :plain, "a client shakes hands when it is let in, and this one is not"
    gate = new_tag
    clients = open_clients(CONNECTIONS)
    clients.each_with_index do |client, index|
      client.get("/wait?gate=#{gate}&tag=#{gate}-#{index}")
      events.await("waiting", "#{gate}-#{index}")
    end
    late = Wire::Client.new(server.url)
    late.get("/open?gate=#{gate}")
    if late.socket.wait_readable(0.3)
      refusal = late.response_or_end
      assert_equal 503, refusal.status if refusal
    end
    clients.pop.abort
    clients.each { assert_equal "hello", answer_when_let_in("/open?gate=#{gate}").body }
    clients.each_with_index do |client, index|
      assert_equal "waited #{gate}-#{index}", client.response.body
    end
    answer_when_let_in("/open?gate=#{gate}") # for the one that left, should it wait still
  ensure
    [*clients, *late].each(&:close)
  end

  def test_a_newcomer_takes_the_place_of_an_idle_connection
    clients = open_clients(CONNECTIONS)
    clients.each { |client| assert_equal "hello", answer_on(client).body }
    late = Wire::Client.new(server.url)
    assert_equal "hello", answer_on(late)&.body
    assert_equal CONNECTIONS - 1, clients.count { |client| !client.closed_by_server? }
  ensure
    [*clients, *late].each(&:close)
  end

  def test_places_are_free_again_when_clients_have_left
    3.times do
      clients = open_clients(CONNECTIONS)
      clients.each { |client| assert_equal "hello", answer_on(client)&.body }
      clients.each(&:close)
      assert_equal "hello", answer_when_let_in("/").body
    end
  end

  # A place is free once the server has seen a client go.
  def answer_when_let_in(target)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Patience::SECONDS
    loop do
      answer = connect { |client| client.get(target) && client.response_or_end }
      return answer if answer&.status == 200

      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      flunk "nobody is let in though there is room" if now > limit
    end
  end
end

class LimitsDescriptorsTest < ServerProcessCase
  CLIENTS = 200
  # A worker takes 42 of them for a moment, 22 later, and 64 itself.
  DESCRIPTORS = ENV.key?("NB_TEST_WORKERS") ? 128 : 64
  WATCH_S = 1.0

  def self.server_options
    { settings: { fibers: 8 }, wrap: ["sh", "-c", "ulimit -n #{DESCRIPTORS} && exec \"$@\"", "sh"] }
  end

  def setup
    skip "the settings are NeverBlock's own" unless neverblock?
  end

  # accept(2): EMFILE leaves the connection in the queue.
  def test_out_of_descriptors_it_neither_spins_nor_dies_and_recovers
    only_over :plain, "clients shake hands when they are let in, and these are not"
    ask("/")
    clients = Array.new(CLIENTS) { Wire::Client.new(server.url) }
    clients.each { |client| client.get("/") }
    assert_operator processor_share, :<, 0.2, "it spins"
    clients.each(&:close)
    clients = nil
    last = nil
    Patience.await("recovery", -> { [last, server.stderr] }) { (last = answer) == 200 }
  ensure
    clients&.each(&:close)
  end

  def processor_share
    before = server.processor_s
    IO.select(nil, nil, nil, WATCH_S)
    (server.processor_s - before) / WATCH_S
  end

  # @return [Integer, Exception]
  def answer
    connect(deadline_s: 1) { |client| client.get("/") && client.response.status }
  rescue Wire::Error, SystemCallError => e
    e
  end
end

class LimitsSpoolTest < ServerProcessCase
  UPLOAD = 200_000

  def self.server_options
    { settings: { spool_bytes_max: 300_000, fibers: 8 } }
  end

  def setup
    skip "the settings are NeverBlock's own" unless neverblock?
  end

  def start_upload(client)
    client.write("POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: #{UPLOAD}\r\n\r\n")
    client.write("x" * (UPLOAD - 10))
    Wire::Kernel.wait_until_peer_has_read(client.socket, Patience::SECONDS)
  end

  def test_bodies_that_do_not_fit_the_budget_are_refused_and_the_others_go_on
    connect do |first|
      start_upload(first)
      connect do |second|
        start_upload(second)
        response = second.response(method: "POST")
        assert_includes [503, 413], response.status
        assert_match(/\A[0-9]+\z/, response["retry-after"].to_s) if response.status == 503
      end
      first.write("y" * 10)
      assert_equal UPLOAD, parsed(first.response(method: "POST"))["bytes"]
    end
    3.times do
      assert_equal UPLOAD, parsed(ask("/upload", method: "POST", body: "x" * UPLOAD))["bytes"]
    end
  end
end
