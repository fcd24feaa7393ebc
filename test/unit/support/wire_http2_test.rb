# frozen_string_literal: true

# Wire over HTTP/2, against a server made by hand of the gem http-2: what becomes of the text of
# requests, and what of responses, also those that no server may send.

require "test_helper"
require "socket"
require "support/wire"

class WireHTTP2Test < Minitest::Test
  # The other end. Answers each request as the block says, once it has come whole.
  class Peer
    # @yieldparam stream [HTTP2::Stream]
    # @yieldparam fields [Array<Array(String, String)>] of the request
    # @yieldparam body [String]
    def initialize(io, &answer)
      @io = io
      @answer = answer
      @server = HTTP2::Server.new
      @server.on(:frame) { |bytes| @io.write(bytes) }
      heard = {}
      # A stream is told again by its trailers.
      @server.on(:stream) { |stream| heard[stream.id] ||= hear(stream) }
      @thread = Thread.new { serve }
    end

    def goaway
      @server.goaway
    end

    def join
      @thread.join
    end

    private

    def serve
      loop { @server << @io.readpartial(16_384) }
    rescue SystemCallError, IOError
      @io.close
    end

    def hear(stream)
      fields = []
      body = String.new
      stream.on(:headers) { |more| fields.concat(more) }
      stream.on(:data) { |part| body << part }
      stream.on(:half_close) { @answer.call(stream, fields, body) }
      stream
    end
  end

  def setup
    @near, far = UNIXSocket.pair
    @seen = []
    @peer = Peer.new(far) do |stream, fields, body|
      @seen << [fields.to_h, body]
      @answers.call(stream, fields.to_h)
    end
    @socket = Wire::HTTP2Socket.new(@near, "http")
    @answers = ->(stream, _) { reply(stream, [[":status", "200"]], "fine") }
  end

  def teardown
    @near.close
    @peer.join
  end

  # A Wire::Client of this connection.
  def client
    @client ||= Wire::Client.allocate.tap do |client|
      { deadline_s: Patience::SECONDS, settle_s: 0, socket: @socket, buffer: "".b, ended: nil,
        misses: 0 }.each { |name, value| client.instance_variable_set("@#{name}", value) }
    end
  end

  def reply(stream, fields, body = nil)
    stream.headers(fields, end_stream: body.nil?)
    stream.data(body) if body
  end

  def test_a_request_becomes_headers_and_data
    client.write("POST /a?b HTTP/1.1\r\nHost: test\r\nX-Some: 1\r\nConnection: x-hop\r\n" \
                 "X-Hop: 2\r\nContent-Length: 5\r\n\r\nabcde")
    client.response(method: "POST")
    assert_equal(
      [[{ ":method" => "POST", ":scheme" => "http", ":authority" => "test", ":path" => "/a?b",
          "x-some" => "1", "content-length" => "5" }, "abcde"]], @seen
    )
  end

  def test_chunks_become_data_and_trailers_fields
    client.write("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n" \
                 "3;x=y\r\nabc\r\n02\r\nde\r\n0\r\nX-Sum: 9\r\n\r\n" \
                 "GET /next HTTP/1.1\r\nHost: t\r\n\r\n")
    2.times { client.response }
    assert_equal ["abcde", ""], @seen.map(&:last)
    assert_equal ["9", "/next"], [@seen[0][0]["x-sum"], @seen[1][0][":path"]]
  end

  def test_the_text_may_come_in_any_pieces
    "POST /p HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nok".each_char do |byte|
      client.write(byte)
    end
    assert_equal "fine", client.response.body
    assert_equal "ok", @seen[0][1]
  end

  def test_a_body_beyond_the_windows_waits_for_them
    client.write("PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 300000\r\n\r\n#{"x" * 300_000}")
    assert_equal "fine", client.response.body
    assert_equal 300_000, @seen[0][1].bytesize
  end

  # Texts that HTTP/2 cannot say.
  [
    "GET / HTTP/1.0\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
  ].each_with_index do |text, number|
    define_method("test_what_only_http_1_1_can_say_is_refused_#{number}") do
      assert_raises(Wire::Untranslatable, text) { client.write(text) }
    end
  end

  def test_responses_come_in_the_order_of_the_requests
    first = nil
    @answers = lambda do |stream, fields|
      next first = stream if fields[":path"] == "/1"

      reply(stream, [[":status", "200"]], "two")
      reply(first, [[":status", "200"], %w[content-length 3]], "one")
    end
    client.get("/1")
    client.get("/2")
    one = client.response
    assert_equal [:length, "one"], [one.framing, one.body]
    two = client.response
    assert_equal [:chunked, "two"], [two.framing, two.body]
  end

  def test_interim_responses_come_before_theirs
    @answers = lambda do |stream, _|
      stream.headers([[":status", "103"], %w[link a]])
      reply(stream, [[":status", "204"]])
    end
    client.get("/")
    response = client.response
    assert_equal [204, [103], "a"], [response.status, response.interim.map(&:status),
                                     response.interim.first["link"]]
  end

  def test_an_answer_to_head_has_no_body
    @answers = ->(stream, _) { reply(stream, [[":status", "200"], %w[content-length 9]]) }
    client.write("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n")
    head = client.response(method: "HEAD")
    assert_equal [:none, "9"], [head.framing, head["content-length"]]
  end

  def test_a_stream_that_is_reset_is_a_connection_cut_there
    @answers = lambda do |stream, _|
      stream.headers([[":status", "200"]])
      stream.data("half", end_stream: false)
      stream.close(:internal_error)
    end
    client.get("/")
    response = client.response_as_far_as_it_comes
    assert_equal ["half", :reset], [response.body, response.cut_by]
  end

  def test_the_connection_ends_behind_a_request_that_says_so
    client.get("/", "Connection: close")
    assert_equal "fine", client.response.body
    assert_equal :eof, client.ending
    refute client.write("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
  end

  def test_what_comes_after_goaway_is_not_sent
    @answers = ->(stream, _) { reply(stream, [[":status", "200"]], "last") && @peer.goaway }
    client.get("/")
    assert_equal "last", client.response.body
    Patience.await("GOAWAY to be heard") { client.closed_by_server? || !client.get("/more") }
  end

  # Fields of a response, and its body, that no server may send.
  {
    "a name in upper case" => [[[":status", "200"], %w[X-Upper 1]], ""],
    "a field of the connection" => [[[":status", "200"], %w[keep-alive 1]], ""],
    "no status" => [[%w[x 1]], ""],
    "another pseudo-header field" => [[[":status", "200"], [":path", "/"]], ""],
    "a line break in a value" => [[[":status", "200"], ["x", "a\r\nb"]], ""],
    "a space before a value" => [[[":status", "200"], ["x", " a"]], ""],
    "a body shorter than its length" => [[[":status", "200"], %w[content-length 5]], "abc"],
    "a body longer than its length" => [[[":status", "200"], %w[content-length 2]], "abc"],
    "a body of a 204" => [[[":status", "204"]], "abc"],
    "an interim response alone" => [[[":status", "100"]], ""]
  }.each do |what, (fields, body)|
    define_method("test_#{what.tr(" ", "_")}_is_malformed") do
      exchange = Wire::HTTP2Exchange.new("GET", false)
      assert_raises(Wire::Malformed) do
        exchange.fields(fields)
        exchange.data(body)
        exchange.complete
      end
    end
  end
end
