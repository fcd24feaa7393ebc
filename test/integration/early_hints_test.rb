# frozen_string_literal: true

# env["rack.early_hints"]: 103 responses (RFC 8297) before the response, as Puma has them. On one
# process, and behind a front.

require_relative "../support/gate"
require_relative "../support/http_client"
require_relative "../support/server_process_case"

module EarlyHintsTests
  APP = <<~'RACKUP'
    require "json"
    LINK = { "link" => "</a.css>; rel=preload; as=style" }
    HINTS = {
      "one" => LINK,
      "array" => { "link" => ["</a>; rel=preload", "</b>; rel=preload"], "x-a" => "1" },
      "lines" => { "Link" => "</a>; rel=preload\n</b>; rel=preload" },
      "pairs" => [["link", "</a>; rel=preload"], ["link", "</b>; rel=preload"]],
      "other" => { link: :a, "x-n" => 5, "x-nil" => nil },
      "bad" => {
        "x a" => "1", "x:" => "1", "" => "1", "x-a" => "1\r\nx-evil: 1", "x-b" => "\0",
        "x-ok" => "fine", "x-empty" => ""
      },
      "framing" => {
        "Content-Length" => "5", "transfer-encoding" => "chunked", "connection" => "close",
        "keep-alive" => "5", "upgrade" => "a", "rack.hijack" => "x", "x-ok" => "fine"
      },
      "nothing" => {}, "only_bad" => { "x a" => "1" }, "long" => { "x-long" => "x" * 70_000 }
    }
    KEPT = []
    def wait(env)
      TCPSocket.open("127.0.0.1", env["QUERY_STRING"].to_i) { |gate| gate.read && nil }
    end
    run(lambda do |env|
      hints = env["rack.early_hints"]
      case env["PATH_INFO"]
      when "/key"
        [200, {}, [JSON.generate([env.key?("rack.early_hints"), hints.respond_to?(:call)])]]
      when "/hints" then [200, {}, [hints.call(HINTS.fetch(env["QUERY_STRING"])).inspect]]
      when "/gate" then hints.call(LINK) || wait(env) || [200, {}, ["gone on"]]
      when "/plain" then wait(env) || [200, {}, ["plain"]]
      when "/thread" then [200, {}, [Thread.new { hints.call(LINK) }.value.inspect]]
      when "/fiber" then [200, {}, [Fiber.new { hints.call(LINK) }.resume.inspect]]
      when "/late"
        parts = Enumerator.new do |body|
          body << "a"
          hints.call(LINK)
          body << "b"
          sleep(0.01)
          hints.call(LINK)
        end
        [200, {}, parts]
      when "/kept" then (KEPT << hints) && [200, {}, ["kept"]]
      when "/again" then KEPT.each { |one| one.call(LINK) } && [200, {}, ["again"]]
      when "/raise" then hints.call(LINK) || raise("on purpose")
      when "/wrong" then hints.call(nil) || [200, {}, ["?"]]
      when "/hijack"
        io = env["rack.hijack"].call
        hints.call(LINK)
        io.write("mine")
        io.close
        [200, {}, []]
      when "/many" then 16.times { hints.call(LINK) } && [200, {}, ["many"]]
      when "/upgrade"
        hints.call(LINK)
        over = ->(stream) { stream.write("over") and stream.close }
        [101, { "rack.protocol" => "any" }, over]
      else [200, {}, ["fine"]]
      end
    end)
  RACKUP

  LINK = ["link", "</a.css>; rel=preload; as=style"].freeze

  def self.included(base)
    base.extend(ClassMethods)
  end

  module ClassMethods
    def app = APP
  end

  # @return [Array] fields of each 103 before the answer, and its body
  def hinted(target, *fields)
    response = ask(target, *fields)
    [response.interim.map { |interim| [interim.status, *interim.fields] }, response.body]
  end

  def test_the_key_is_there_but_in_http_1_0
    assert_equal [true, true], parsed(ask("/key"))
    assert_equal [false, false], parsed(ask("/key", version: "1.0")) unless Over.http2?
  end

  def test_they_leave_before_the_application_goes_on
    Gate.open do |gate|
      connect do |client|
        client.get("/gate?#{gate.port}")
        client.await_bytes("HTTP/1.1 103 Early Hints\r\nlink: #{LINK.last}\r\n\r\n")
        gate.arrival.close
        response = client.response
        assert_equal [[103], [LINK], "gone on"],
                     [response.interim.map(&:status), response.interim.first.fields, response.body]
      end
    end
  end

  # What a Hash says => the fields of the 103; nil: none is sent.
  SENT = {
    "one" => [LINK],
    "array" => [["link", "</a>; rel=preload"], ["link", "</b>; rel=preload"], %w[x-a 1]],
    "lines" => [["Link", "</a>; rel=preload"], ["Link", "</b>; rel=preload"]],
    "pairs" => [["link", "</a>; rel=preload"], ["link", "</b>; rel=preload"]],
    "other" => [%w[link a], %w[x-n 5]],
    "bad" => [["x-a", "x-evil: 1"], %w[x-ok fine]],
    "framing" => [%w[x-ok fine]],
    "nothing" => nil,
    "only_bad" => nil,
    "long" => nil
  }.freeze

  def test_what_is_no_header_field_is_left_out_without_a_word
    SENT.each do |name, fields|
      fields = fields&.map { |field, value| [Over.field(field), value] }
      assert_equal [fields ? [[103, *fields]] : [], "nil"], hinted("/hints?#{name}"), name
    end
  end

  def test_any_thread_and_fiber_of_the_request_may_send_them
    %w[/thread /fiber].each { |path| assert_equal [[[103, LINK]], "nil"], hinted(path) }
  end

  def test_several_are_sent_as_they_come
    assert_equal [[[103, LINK]] * 16, "many"], hinted("/many")
  end

  def test_none_is_sent_once_the_response_has_begun
    response = ask("/late")
    assert_equal ["ab", []], [response.body, response.interim]
    ask("/kept")
    assert_equal [[], "again"], hinted("/again")
  end

  def test_none_is_sent_once_the_connection_is_the_applications
    only_over :plain, :tls, "HTTP/2 has no hijack"
    assert_equal "mine", connect { |client| client.get("/hijack") && client.take_to_end.first }
  end

  # RFC 9112 section 9.3.2.
  def test_in_a_pipeline_they_keep_the_place_of_their_request
    Gate.open do |gate|
      connect do |client|
        client.write(request("/plain?#{gate.port}") + request("/hints?one") + request("/fine"))
        first = gate.arrival
        refute client.socket.wait_readable(0.05), "something overtook the first answer"
        first.close
        responses = Array.new(3) { client.response }
        assert_equal ["plain", "nil", "fine"], responses.map(&:body)
        assert_equal [[], [103], []], responses.map { |response| response.interim.map(&:status) }
      end
    end
  end

  def test_an_application_that_fails_behind_them_is_500
    response = ask("/raise")
    assert_equal [500, [103]], [response.status, response.interim.map(&:status)]
    assert_equal 500, ask("/wrong").status
    server.await_stderr(/undefined method `?'?each'? for nil/)
  end

  def test_a_101_comes_behind_them
    only_over :plain, :tls, "HTTP/2 has no Upgrade"
    connect do |client|
      client.get("/upgrade", "Connection: upgrade", "Upgrade: any")
      heads, last, rest = client.take_to_end.first.split(/\r\n\r\n/)
      assert_match(/\AHTTP\/1\.1 103 /, heads)
      assert_match(/\AHTTP\/1\.1 101 /, last)
      assert_equal "over", rest
    end
  end

  def test_a_client_that_leaves_behind_them_is_no_harm
    Gate.open do |gate|
      connect do |client|
        client.get("/gate?#{gate.port}")
        client.await_bytes("103 Early Hints")
        client.abort
        gate.arrival.close
      end
    end
    assert_equal "fine", ask("/fine").body
  end
end

class EarlyHintsTest < ServerProcessCase
  include EarlyHintsTests

  def self.server_options
    { options: ["--early-hints", *ServerProcess.one_process("early hints")] }
  end

  # Clients are not asked whether they know 103, so that its sender decides (RFC 8297 section 2).
  def test_without_the_setting_there_is_no_key
    ServerProcess.run(self.class.app) do |server|
      assert_equal [false, false], JSON.parse(HTTPClient.get(URI("#{server.url}/key")))
    end
  end
end

class EarlyHintsWorkersTest < ServerProcessCase
  include EarlyHintsTests

  def self.server_options
    { options: ["--early-hints", "-w", "2"] }
  end
end
