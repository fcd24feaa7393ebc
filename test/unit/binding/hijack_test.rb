# frozen_string_literal: true

require_relative "binding_case"
require "io/wait"
require "websocket/driver"

# Tests connections that applications take over (Rack SPEC 3.1, "Hijacking"; Rack 2.2's). The
# application gets the client's own socket and what was read of it before. The server has nothing
# more to do with it.
class HijackTest < BindingCase
  UPGRADE = ["Connection: upgrade", "Upgrade: any"].freeze

  def take(env) = env["rack.hijack"].call

  # --- full ---

  # What ends a wait from outside cuts connections to other servers
  # (lib/neverblock/scheduler/sockets.rb).
  def test_it_is_left_alone_where_a_wait_for_it_is_ended
    serve do |env|
      io = take(env)
      io.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
      NB.deadline(0) { io.wait_readable }
    rescue NB::DeadlineExceeded
      io.write("still")
      io.close
    end
    assert_equal "still", ask.body
  end

  def test_it_is_promised
    promised = nil
    serve do |env|
      promised = env.values_at("rack.hijack?", "rack.hijack_io")
      [200, {}, ["fine"]]
    end
    assert_serves
    assert_equal [true, nil], promised
  end

  def test_the_application_has_the_clients_socket
    seen = nil
    serve do |env|
      io = take(env)
      seen = [io.class, io.sync, io.equal?(env["rack.hijack_io"]), take(env).equal?(io),
              io.peeraddr[0]]
      io.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nours")
      io.close
    end
    assert_equal "ours", ask.body
    assert_equal [TCPSocket, true, true, true, "AF_INET"], seen
    assert_equal 1, @server.stats[:hijacked]
  end

  def test_on_a_unix_socket_it_is_one
    path = File.join(Dir.tmpdir, "neverblock-hijack-#{Process.pid}")
    config = NeverBlock::Config.new(binds: ["unix://#{path}"], log_fd: @log_file.fileno)
    app = lambda do |env|
      io = take(env)
      io.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n#{io.class}")
      io.close
    end
    @server = NeverBlock::Server.new(config, app, log: @log).start
    wire = Wire::Client.open("unix://#{path}", deadline_s: SECONDS)
    wire.get("/")
    assert_equal "UNIXSocket", wire.response.body
  ensure
    wire&.close
  end

  # What comes behind the head of an Upgrade is the other protocol's.
  def test_bytes_that_came_with_the_request_are_read_first
    readers = {
      "read" => ->(io) { io.read(9) },
      "gets" => ->(io) { io.gets("\2") },
      "readpartial" => ->(io) { io.readpartial(4) + io.read(5) },
      "read_nonblock" => ->(io) { io.read_nonblock(4) + io.read(5) },
      "select" => ->(io) { IO.select([io], nil, nil, SECONDS) && io.readpartial(9) },
      "wait" => ->(io) { io.wait_readable(SECONDS) && io.read_nonblock(9) },
      "thread" => ->(io) { Thread.new { IO.select([io]) && io.read_nonblock(9) }.value }
    }
    serve do |env|
      io = take(env)
      io.write("<#{readers.fetch(env["QUERY_STRING"]).call(io)}>")
      io.write(io.read(5))
      io.close
    end
    readers.each_key do |name|
      client do |wire|
        wire.write("GET /?#{name} HTTP/1.1\r\nHost: test\r\n#{UPGRADE.join("\r\n")}\r\n\r\n" \
                   "\1 before\2")
        wire.await_bytes("<\1 before\2>")
        wire.write("after")
        assert_equal "<\1 before\2>after", wire.take_to_end.first, name
      end
    end
  end

  # RFC 9110 section 7.8: a request whose upgrade is ignored is a request like any other.
  def test_requests_behind_an_upgrade_that_was_ignored_are_answered
    serve { |env| [200, {}, [env["PATH_INFO"]]] }
    client do |wire|
      wire.write("GET /a HTTP/1.1\r\nHost: test\r\n#{UPGRADE.join("\r\n")}\r\n\r\n" \
                 "GET /b HTTP/1.1\r\nHost: test\r\n\r\n")
      assert_equal %w[/a /b], Array.new(2) { wire.response.body }
    end
  end

  def test_answers_before_it_are_sent_first
    gate = Queue.new
    serve do |env|
      next gate.pop && [200, {}, ["first"]] if env["PATH_INFO"] == "/first"

      take(env).then { |io| io.write("raw") && io.close }
    end
    client do |wire|
      wire.write("GET /first HTTP/1.1\r\nHost: test\r\n\r\nGET / HTTP/1.1\r\nHost: test\r\n\r\n")
      within { sleep(0.001) until @server.stats[:requests] == 2 }
      gate << true
      assert_equal "first", wire.response.body
      assert_equal "raw", wire.take_to_end.first
    end
  end

  # The socket is another thread's, as Action Cable's, and the request over.
  def test_the_socket_outlives_its_request_and_the_server
    sockets = Queue.new
    serve do |env|
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      sockets << take(env)
      [-1, {}, []]
    end
    wire = client
    wire.get("/")
    socket = within { sockets.pop }
    assert_serves
    within { sleep(0.001) until @server.stats[:connections].zero? }
    assert @server.stop(timeout: SECONDS)
    wire.write("still")
    assert_equal "still", socket.read(5)
    socket.close
    assert_equal :eof, wire.ending
  end

  def test_what_is_returned_is_ignored_but_for_its_close
    closed = []
    body = ["never"]
    body.define_singleton_method(:close) { closed << 1 }
    answers = { "nil" => nil, "minus" => [-1, {}, []], "headers" => [200, { "x-a\r\n" => 7 }, []],
                "body" => [200, {}, body] }
    serve do |env|
      take(env).then { |io| io.write("raw") && io.close }
      answers[env["QUERY_STRING"]]
    end
    answers.each_key do |name|
      assert_equal "raw", client { |wire| wire.get("/?#{name}") && wire.take_to_end.first }, name
    end
    within { sleep(0.001) until closed.size == 1 }
    refute_match(/error/, logged)
  end

  # Nobody would write to it or close it any more.
  def test_an_error_behind_it_is_an_entry_and_ends_the_connection
    kept = nil
    serve { |env| (kept = take(env)) && kept.write("ours") && raise("no") }
    client do |wire|
      wire.get("/")
      assert_equal "ours", wire.take_to_end.first
      within { sleep(0.001) until logged.include?("RuntimeError: no") }
      assert_predicate kept, :closed?
    end
  end

  # Nothing else would end its wait.
  def test_a_fiber_that_waits_for_it_when_the_application_raises_is_told_of_its_close
    seen = nil
    serve { |env| take(env).then { |io| waits_for(io) { |it| seen = it } } && raise("no") }
    client { |wire| wire.get("/") && wire.take_to_end }
    within { sleep(0.001) until seen }
    assert_instance_of IOError, seen
  end

  # Returns when a fiber waits for the IO; yields what ends the wait.
  def waits_for(io)
    Fiber.schedule do
      yield io.wait_readable
    rescue IOError => e
      yield e
    end
  end

  def test_it_is_called_in_its_request_and_before_the_response
    kept = []
    calls = []
    refused = lambda do |env|
      env["rack.hijack"].call && "taken"
    rescue StandardError => e
      calls << e.message
    end
    serve do |env|
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      kept.each(&refused)
      Thread.new { refused.call(env) }.join
      kept << env
      [200, {}, Enumerator.new { |out| (out << "a") && refused.call(env) }]
    end
    2.times { assert_equal "a", ask.body }
    assert_equal ["rack.hijack is called in its request, on the thread that runs it",
                  "rack.hijack is called before the response has begun"], calls.uniq
    assert_equal 0, @server.stats[:hijacked]
    assert_raises(NeverBlock::Error) { kept.last["rack.hijack"].call }
    assert_raises(TypeError, NoMethodError) { NeverBlock::Hijack.new }
  end

  def test_a_client_that_goes_while_it_is_awaited
    begun = Queue.new
    ended = Queue.new
    gate = Queue.new
    serve do |env|
      next gate.pop if env["PATH_INFO"] == "/first"
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      begun << true
      take(env)
    ensure
      ended << $!.class if env["PATH_INFO"] == "/"
    end
    wire = client
    wire.write("GET /first HTTP/1.1\r\nHost: test\r\n\r\nGET / HTTP/1.1\r\nHost: test\r\n\r\n")
    within { begun.pop }
    wire.abort
    assert_equal NeverBlock::ClientGone, within { ended.pop }
    gate << true
    assert_serves
  end

  # The response takes its place.
  def test_an_interrupted_hijack
    gate = Queue.new
    interrupted = Queue.new
    serve do |env|
      next gate.pop && [200, {}, ["first"]] if env["PATH_INFO"] == "/first"
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      begin
        NB.deadline(0.01) { take(env) }
      rescue NB::DeadlineExceeded => e
        interrupted << e.class
      end
      (take(env) rescue interrupted << $!.message) # rubocop:disable Style/RescueModifier
      [200, {}, ["late"]]
    end
    wire = client
    wire.write("GET /first HTTP/1.1\r\nHost: test\r\n\r\nGET / HTTP/1.1\r\nHost: test\r\n\r\n")
    assert_equal NB::DeadlineExceeded, within { interrupted.pop }
    assert_match(/was called before and did not come to its end/, within { interrupted.pop })
    gate << true
    assert_equal %w[first late], Array.new(2) { wire.response.body }
    assert_serves
  end

  # --- partial ---

  def partial(status = 200, headers = {}, &block)
    serve do |env|
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      [status, headers.merge("rack.hijack" => block), ["ignored"]]
    end
  end

  def test_a_partial_hijack_has_the_head_written_for_it
    partial(200, { "content-type" => "text/plain" }) { |io| io.write("all") && io.close }
    head, body = client { |wire| wire.get("/") && wire.take_to_end.first }.split("\r\n\r\n")
    assert_match(/\AHTTP\/1\.1 200 OK\r\n/, head)
    assert_includes head, "content-type: text/plain"
    assert_includes head, "\r\nConnection: close"
    refute_match(/rack|transfer-encoding|content-length/i, head)
    assert_equal "all", body
    within { Thread.pass until @server.stats[:connections].zero? }
  end

  # RFC 9112 section 6.1: chunks are for HTTP/1.1.
  def test_the_chunks_of_a_partial_hijack_are_announced_as_the_application_did
    partial(200, { "transfer-encoding" => "chunked" }) do |io|
      io.write("3\r\nall\r\n0\r\n\r\n") && io.close
    end
    assert_equal "all", ask.body
    head = client { |wire| wire.get("/", version: "1.0") && wire.take_to_end.first }
    refute_match(/transfer-encoding/i, head)
  end

  def test_a_partial_hijack_may_switch_protocols
    partial(101, { "upgrade" => "any", "connection" => "Upgrade" }) do |io|
      io.write(io.read(5)) && io.close
    end
    client do |wire|
      wire.write("GET / HTTP/1.1\r\nHost: test\r\n#{UPGRADE.join("\r\n")}\r\n\r\nhello")
      head, body = wire.take_to_end.first.split("\r\n\r\n")
      assert_equal ["HTTP/1.1 101 Switching Protocols", "upgrade: any", "Connection: Upgrade"],
                   head.lines(chomp: true).grep_v(/\ADate/)
      assert_equal "hello", body
    end
  end

  def test_without_it_101_is_no_status
    serve { |_env| [101, { "upgrade" => "any" }, []] }
    assert_equal 500, ask.status
  end

  def test_where_no_body_may_be_sent_it_is_not_called
    called = 0
    partial(204) { |_io| called += 1 }
    assert_equal 204, ask.status
    assert_serves
    assert_equal 0, called
  end

  def test_a_partial_hijack_that_raises_is_an_entry_and_ends_the_connection
    partial { |io| io.write("begun") && raise("no") }
    assert_match(/begun\z/, client { |wire| wire.get("/") && wire.take_to_end.first })
    within { sleep(0.001) until logged.include?("RuntimeError: no") }
    assert_serves
  end

  def test_a_fiber_that_waits_for_it_when_a_partial_hijack_raises_is_told_of_its_close
    seen = nil
    partial { |io| waits_for(io) { |it| seen = it } && raise("no") }
    client { |wire| wire.get("/") && wire.take_to_end }
    within { sleep(0.001) until seen }
    assert_instance_of IOError, seen
  end

  # --- WebSockets, by the driver that Action Cable and Faye use ---

  Peer = Struct.new(:env, :io) do
    def url = "ws://test/"
    def write(data) = io.write(data)
  end

  # Answers each message in capitals until the client closes.
  def converse(env, io)
    driver = WebSocket::Driver.rack(Peer.new(env, io))
    driver.on(:message) { |event| driver.text(event.data.upcase) }
    driver.on(:close) { io.close_write }
    driver.start
    yield driver
  ensure
    io&.close
  end

  def chat(words)
    heard = []
    socket = TCPSocket.new("127.0.0.1", URI(@server.urls.first).port)
    driver = WebSocket::Driver.client(Peer.new({}, socket))
    driver.on(:open) { driver.text(words.first) }
    driver.on(:message) do |event|
      heard << event.data
      heard.size < words.size ? driver.text(words[heard.size]) : driver.close
    end
    driver.start
    within { loop { driver.parse(socket.readpartial(4096)) } }
  rescue EOFError
    heard
  ensure
    socket.close
  end

  def test_a_websocket_in_the_fiber_of_its_request
    serve do |env|
      io = take(env)
      converse(env, io) { |driver| loop { driver.parse(io.readpartial(4096)) } }
    end
    threads = Array.new(10) { |n| Thread.new { chat(["a#{n}", "b" * 70_000, "c"]) } }
    threads.each_with_index { |thread, n| assert_equal ["A#{n}", "B" * 70_000, "C"], thread.value }
  end

  def test_a_websocket_on_a_thread_that_selects
    serve do |env|
      io = take(env)
      Thread.new do
        converse(env, io) do |driver|
          while IO.select([io]) && (data = io.read_nonblock(4096, exception: false))
            driver.parse(data) unless data == :wait_readable
          end
        end
      end
      [-1, {}, []]
    end
    assert_equal %w[A B], chat(%w[a b])
  end
end
