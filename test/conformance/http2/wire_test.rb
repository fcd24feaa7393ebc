# frozen_string_literal: true

# Tests the client of HTTP/2 itself: it finds each thing that no server may send. The table of
# conformance depends on that.

require "minitest/autorun"

require_relative "../../support/http2_wire"

class Http2WireTest < Minitest::Test
  only_over :plain, "they make their own frames"

  include Http2Wire
  include Http2Wire::Frames

  OK = Hpack.indexed(8) # :status 200
  HEAD = ->(stream, block = OK, flags = END_HEADERS) { Frames.raw(HEADERS, flags, stream, block) }

  # By rule: frames of a server that break it. Its SETTINGS have come, and streams 1 and 3 are open.
  BROKEN = {
    preface: { "no SETTINGS" => [Frames.ping("12345678", ACK)] },
    frame_size: { "17 KB" => [HEAD[1], Frames.data(1, "a" * 17_000)] },
    types: { "PUSH_PROMISE" => [Frames.push_promise(1, 2, OK)],
"unknown" => [Frames.raw(77, 0, 0)] },
    flags: { "of DATA" => [HEAD[1], Frames.data(1, "a", 2)],
"of PING" => [Frames.ping("12345678", 4)] },
    reserved: { "of PING" => [Frames.raw(PING, 0, 0, "12345678", reserved: 1)] },
    lengths: { "PING" => [Frames.ping("1234567")],
      "RST_STREAM" => [Frames.raw(RST_STREAM, 0, 1, "abc")],
               "no increment" => [Frames.window_update(0, 0)],
                 "SETTINGS" => [Frames.raw(SETTINGS, 0, 0, "a")],
               "ACK" => [Frames.settings({ 1 => 1 }, ACK)],
                 "GOAWAY" => [Frames.raw(GOAWAY, 0, 0, "a")] },
    streams: { "DATA on 0" => [Frames.data(0, "a")], "PING on 1" => [Frames.ping(stream: 1)],
               "an even one" => [HEAD[2]], "one that is idle" => [HEAD[5]] },
    padding: { "too long" => [HEAD[1], Frames.raw(DATA, PADDED, 1, "\x09abc")],
               "not zero" => [HEAD[1], Frames.raw(DATA, PADDED, 1, "\x02abc")] },
    contiguous: { "PING within" => [HEAD[1, OK, 0], Frames.ping],
                  "CONTINUATION alone" => [Frames.continuation(1, OK)] },
    decodes: { "no such entry" => [HEAD[1, Hpack.indexed(99)]] },
    after_end: { "DATA behind the end" => [HEAD[1, OK, 5], Frames.data(1, "a")],
                 "HEADERS behind a reset" => [Frames.rst_stream(1), HEAD[1]] },
    one_reset: { "twice" => [Frames.rst_stream(1), Frames.rst_stream(1)] },
    windows: { "65,536 bytes" => [HEAD[1], *Array.new(4) { Frames.data(1, "a" * 16_384) }] },
    acknowledged: { "one too many" => [Frames.settings({}, ACK), Frames.settings({}, ACK)] },
    push: { "1" => [Frames.settings({ ENABLE_PUSH => 1 })] },
    settings: { "a window of 2^31" => [Frames.settings({ INITIAL_WINDOW_SIZE => 1 << 31 })],
                "small frames" => [Frames.settings({ MAX_FRAME_SIZE => 100 })] },
    names: { "upper case" => [HEAD[1, OK + Hpack.literal("Date", "x")]],
             "a blank" => [HEAD[1, OK + Hpack.literal("a b", "x")]] },
    values: { "LF" => [HEAD[1, OK + Hpack.literal("a", "x\ny")]],
              "a blank at the end" => [HEAD[1, OK + Hpack.literal("a", "x ")]] },
    connection_fields: { "connection" => [HEAD[1, OK + Hpack.literal("connection", "close")]] },
    status: { "none" => [HEAD[1, Hpack.literal("a", "x")]], "two" => [HEAD[1, OK * 2]],
              "last" => [HEAD[1, Hpack.literal("a", "x") + OK]],
                "content first" => [Frames.data(1, "a")],
              "a pseudo-field of requests" => [HEAD[1, OK + Hpack.literal(":path", "/")]],
              "100 that ends" => [HEAD[1, Hpack.literal(":status", "100"), 5]] },
    trailers: { "with :status" => [HEAD[1], HEAD[1, OK, 5]],
                "that do not end" => [HEAD[1], HEAD[1, Hpack.literal("a", "x")]] },
    last_stream: { "higher than before" => [Frames.goaway(last: 1), Frames.goaway(last: 3)],
                   "not there" => [Frames.goaway(last: 5)] }
  }.freeze

  def test_every_rule_is_tested
    assert_equal RULES.keys.sort, [*BROKEN.keys, :table_size].sort
  end

  BROKEN.each do |rule, cases|
    cases.each do |name, frames|
      define_method("test_#{rule}: #{name}") do
        problem = assert_raises(Wire::Malformed) { read(frames, bare: rule == :preface) }
        assert_match(/\A#{rule}: /, problem.message)
      end
    end
  end

  def test_table_size
    assert_malformed(:table_size) do |client|
      exchange(client, { HEADER_TABLE_SIZE => 0 }, [Frames.settings({}, ACK), HEAD[1]])
    end
    assert_malformed(:table_size) do |client|
      exchange(client, { HEADER_TABLE_SIZE => 0 },
               [Frames.settings({}, ACK), HEAD[1, Hpack.size_update(100) + OK]])
    end
  end

  def test_good_responses_are_read
    trailer = Hpack.literal("a", "b")
    client = read([HEAD[1, Hpack.literal(":status", "103")], HEAD[1], Frames.data(1, "abc"),
                   Frames.data(1, "de", padding: 3), HEAD[1, trailer, 5], HEAD[3, OK, 0],
                   Frames.continuation(3, trailer), Frames.rst_stream(3, NO_ERROR),
                   Frames.goaway(ENHANCE_YOUR_CALM, last: 3)])
    first = client.seen(1)
    assert_equal [200, "abcde", [%w[a b]], true, nil],
                 [first.status, first.body, first.trailers, first.ended, first.code]
    assert_equal "103", first.interim.first.to_h[":status"]
    assert_equal ["b", NO_ERROR], [client.seen(3)["a"], client.seen(3).code]
    assert_equal [[ENHANCE_YOUR_CALM, 3]], client.goaways
  end

  private

  def assert_malformed(rule)
    answered do |client, server|
      @server = server
      problem = assert_raises(Wire::Malformed) { yield client }
      assert_match(/\A#{rule}: /, problem.message)
    end
  end

  # What a client makes of these frames of a server.
  def read(frames, bare: false)
    answered do |client, server|
      @server = server
      exchange(client, {}, frames, bare: bare)
      client
    end
  end

  def exchange(client, settings, frames, bare: false)
    client.send(PREFACE + settings(settings) + get(1) + get(3))
    @server.write((bare ? "" : settings({})) + frames.join)
    (frames.size + (bare ? 0 : 1)).times { client.frame }
  end

  def answered
    listener = TCPServer.new("127.0.0.1", 0)
    Client.open("http://127.0.0.1:#{listener.local_address.ip_port}") do |client|
      server = listener.accept
      yield client, server
    ensure
      server&.close
    end
  ensure
    listener&.close
  end
end
