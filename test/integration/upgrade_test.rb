# frozen_string_literal: true

# Connections that go over to another protocol by the way of Rack 3.1: a response of status 101, or
# with rack.protocol, whose body is called with the connection. On one process, and behind a front.

require_relative "../support/server_process_case"

module UpgradeTests
  APP = <<~'RACKUP'
    require "json"
    require "%<support>s/app_events"
    ECHO = lambda do |stream|
      while (bytes = stream.readpartial(4_096))
        stream.write(bytes.upcase)
      end
    rescue EOFError
      stream.close
    end
    BODIES = {
      "echo" => ECHO,
      # What the client says until it closes its half is answered once it has.
      "half" => ->(stream) { stream << stream.read.bytesize.to_s << "!" and stream.close },
      # The server's half is closed first; the client is still read.
      "close_write" => lambda { |stream|
        stream.write("a", :b)
        stream.flush.close_write
        AppEvents.put("read", "close_write", text: stream.read)
        stream.close
        AppEvents.put("closed", "close_write", closed: stream.closed?)
      },
      "close_read" => ->(stream) { stream.close_read || (stream.write("only") and stream.close) },
      "sleep" => ->(stream) { sleep(0.01) and stream.write(stream.read(3)) and stream.close },
      "raise" => ->(stream) { stream.write("begun") and raise("on purpose") },
      "methods" => ->(stream) {
        names = %%i[read write << flush close close_read close_write closed?]
        stream.write(names.map { |name| stream.respond_to?(name) }.uniq.inspect) and stream.close
      }
    }
    # Of those that are iterated and called, files and arrays: the call counts.
    class Both
      def each = yield("never")
      def to_path = "/etc/hostname"
      def to_ary = ["never"]
      def call(stream) = BODIES["echo"].call(stream)
      def close = AppEvents.put("close", "both")
    end
    HEADERS = {
      "upgrade" => { "upgrade" => "Any", "connection" => "Upgrade" },
      "protocol" => { "rack.protocol" => "any" },
      "last" => { "rack.protocol" => "any/2" },
      "case" => { "rack.protocol" => "ANY" },
      "both" => { "rack.protocol" => "any", "upgrade" => "any" },
      "length" => { "upgrade" => "any", "content-length" => "5" },
      "other" => { "rack.protocol" => "other" },
      "symbol" => { "rack.protocol" => :any },
      "none" => {},
      "newline" => { "rack.protocol" => "any\n" }
    }
    run(lambda do |env|
      env["rack.response_finished"] << ->(_env, status, _headers, error) do
        AppEvents.put("finished", env["HTTP_X_TAG"], status: status, error: error&.class)
      end
      query = env["QUERY_STRING"]
      case env["PATH_INFO"]
      when "/tokens"
        [200, {}, [JSON.generate([env.key?("rack.protocol"), env["rack.protocol"]])]]
      when "/plain" then [200, {}, ["plain"]]
      when "/both" then [101, { "upgrade" => "any" }, Both.new]
      when "/array" then [101, { "upgrade" => "any" }, ["x"]]
      when "/status" then [query.to_i, { "rack.protocol" => "any" }, BODIES["echo"]]
      when "/headers" then [101, HEADERS.fetch(query), BODIES["echo"]]
      when "/hijack"
        fields = { "rack.protocol" => "any", "rack.hijack" => BODIES["echo"] }
        [101, fields, ->(_stream) { raise "not this" }]
      else [101, { "upgrade" => "any" }, BODIES.fetch(env["PATH_INFO"].delete_prefix("/"))]
      end
    end)
  RACKUP

  UPGRADE = ["Connection: upgrade", "Upgrade: any, any/2"].freeze

  def self.included(base)
    base.extend(ClassMethods)
  end

  module ClassMethods
    def app
      format(APP, support: File.expand_path("../support", __dir__))
    end
  end

  # A connection after the head of its 101, and that.
  def upgraded(target, *fields, early: "", method: "GET")
    connect do |client|
      client.write(request(target, *UPGRADE, *fields, method: method) + early)
      head = [client.take_line]
      head << client.take_line until head.last.empty?
      yield client, head
    end
  end

  # Until the client has nothing more to say.
  def converse(target, *fields, say: "hello")
    upgraded(target, *fields) do |client, head|
      client.write(say)
      client.shutdown_write
      [head, *client.take_to_end]
    end
  end

  def assert_switched(head)
    assert_equal "HTTP/1.1 101 Switching Protocols", head.first
    assert_equal 1, head.grep(/\Aconnection: upgrade\z/i).size, head.inspect
    assert_empty head.grep(/content-length|transfer-encoding|rack/i)
  end

  def test_the_body_is_called_with_the_connection
    head, said, ending = converse("/echo")
    assert_switched head
    assert_equal ["upgrade: any"], head.grep(/\Aupgrade:/i)
    assert_equal ["HELLO", :eof], [said, ending]
  end

  def test_the_stream_has_what_rack_asks_for
    assert_equal "[true]", upgraded("/methods") { |client, _head| client.take_to_end.first }
  end

  def test_bytes_that_came_with_the_request_are_read_first
    upgraded("/echo", early: "before ") do |client, head|
      assert_switched head
      client.await_bytes("BEFORE ")
      client.write("after")
      client.shutdown_write
      assert_equal "BEFORE AFTER", client.take_to_end.first
    end
  end

  def test_early_bytes_in_every_split_of_the_request
    bytes = request("/echo", *UPGRADE) + "early"
    (1...bytes.bytesize).step(7) do |at|
      connect do |client|
        client.deliver([bytes.byteslice(0, at), bytes.byteslice(at..)])
        client.await_bytes("EARLY")
      end
    end
  end

  # Two fibers of one process: neither waits for the other.
  def test_a_wait_parks_its_fiber
    upgraded("/echo") do |first, _head|
      upgraded("/echo") do |second, _head|
        second.write("b")
        second.await_bytes("B")
        first.write("a")
        first.await_bytes("A")
        assert_equal "plain", ask("/plain").body
      end
    end
    said = upgraded("/sleep", early: "abc") { |client, _head| client.take_to_end.first }
    assert_equal "abc", said
  end

  def test_a_client_that_closes_its_half_is_still_answered
    assert_equal "100000!", converse("/half", say: "x" * 100_000)[1]
  end

  def test_the_server_may_close_its_half_first
    upgraded("/close_write") do |client, _head|
      assert_equal ["ab", :eof], client.take_to_end
      client.write("still heard")
      client.shutdown_write
    end
    assert_equal "still heard", events.await("read", "close_write").first["text"]
    assert_equal true, events.await("closed", "close_write").first["closed"]
    assert_equal "only", upgraded("/close_read") { |client, _head| client.take_to_end.first }
  end

  def test_a_client_that_resets_is_the_applications_to_notice
    upgraded("/echo") { |client, _head| client.abort }
    assert_equal "plain", ask("/plain").body
  end

  def test_a_body_that_raises_ends_the_connection_and_is_an_entry
    assert_equal "begun", upgraded("/raise") { |client, _head| client.take_to_end.first }
    server.await_stderr(/RuntimeError: on purpose/)
    assert_equal "plain", ask("/plain").body
  end

  def test_whatever_else_a_body_can_it_is_called_and_closed
    head, said = converse("/both")
    assert_switched head
    assert_equal "HELLO", said
    events.await("close", "both")
  end

  # RFC 9110 section 7.8: protocols' names have no case; one of those that were asked for.
  def test_rack_protocol_of_the_response_is_the_upgrade
    {
      "upgrade" => "Any", "protocol" => "any", "last" => "any/2", "case" => "ANY",
      "both" => "any", "length" => "any"
    }.each do |name, protocol|
      head, said = converse("/headers?#{name}")
      assert_switched head
      assert_equal ["upgrade: #{protocol}"], head.grep(/\Aupgrade:/i), name
      assert_equal "HELLO", said, name
    end
  end

  # The answer to HTTP/2's extended CONNECT (RFC 8441), by a library that does not ask which version
  # it is.
  def test_a_success_with_rack_protocol_is_101
    head, said = converse("/status?200", "X-Tag: #{tag = new_tag}")
    assert_switched head
    assert_equal "HELLO", said
    assert_equal 101, events.await("finished", tag).first["status"]
  end

  def test_a_partial_hijack_goes_before_the_body
    head, said = converse("/hijack")
    assert_switched head
    assert_equal [["upgrade: any"], "HELLO"], [head.grep(/\Aupgrade:/i), said]
  end

  def test_head_is_a_method_like_any_other
    upgraded("/echo", method: "HEAD", early: "x") do |client, head|
      assert_switched head
      client.await_bytes("X")
    end
  end

  # One that the request did not ask for, that nothing can be called for, without a name, or with a
  # status that says no.
  REFUSED = {
    "/array" => /responds to call/,
    "/headers?none" => /names the protocol/,
    "/headers?other" => /rack\.protocol is one of/,
    "/headers?symbol" => /rack\.protocol is one of/,
    "/headers?newline" => /rack\.protocol is one of/,
    "/status?404" => /has status 101; the application gave 404/
  }.freeze

  def test_what_cannot_be_is_500_and_the_log_says_why
    REFUSED.each do |target, why|
      response = ask(target, *UPGRADE)
      assert_equal [500, nil], [response.status, response["upgrade"]], target
      server.await_stderr(why)
    end
  end

  def test_nobody_is_upgraded_who_does_not_ask
    [[], ["Upgrade: any"], ["Connection: upgrade"]].each do |fields|
      %w[/echo /status?200 /headers?protocol].each do |target|
        assert_equal 500, ask(target, *fields).status, [target, fields].inspect
      end
    end
    assert_equal 500, ask("/echo", *UPGRADE, version: "1.0").status
    server.await_stderr(/this one does not/)
  end

  TOKENS = [
    [["Connection: upgrade", "Upgrade: websocket"], ["websocket"]],
    [
      ["Connection: keep-alive, Upgrade", "Upgrade: h2c ,, HTTP/2.0\t, a"],
      ["h2c", "HTTP/2.0", "a"]
    ],
    [["Connection: upgrade", "Upgrade: a", "Upgrade: b"], %w[a b]]
  ].freeze

  def test_the_environment_says_what_the_request_asks_for
    TOKENS.each { |fields, tokens| assert_equal [true, tokens], parsed(ask("/tokens", *fields)) }
    [[], ["Upgrade: any"], ["Connection: upgrade"]].each do |fields|
      assert_equal [false, nil], parsed(ask("/tokens", *fields))
    end
    assert_equal [false, nil], parsed(ask("/tokens", *UPGRADE, version: "1.0"))
  end

  def test_it_is_logged_and_told_as_what_the_client_got
    converse("/echo", "X-Tag: #{tag = new_tag}")
    server.await_stderr(%r{info: (worker \d: )?GET /echo 101 })
    assert_equal [101, nil], events.await("finished", tag).first.values_at("status", "error")
  end
end

class UpgradeTest < ServerProcessCase
  only_over :plain, :tls, "HTTP/2 has no Upgrade"

  include UpgradeTests

  def self.server_options
    { options: ["--log-requests", *ServerProcess.one_process("upgrades")] }
  end
end

class UpgradeWorkersTest < ServerProcessCase
  only_over :plain, :tls, "HTTP/2 has no Upgrade"

  include UpgradeTests

  def self.server_options
    { options: ["--log-requests", "-w", "2"] }
  end
end
