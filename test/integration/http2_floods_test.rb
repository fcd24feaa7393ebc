# frozen_string_literal: true

# Clients of HTTP/2 that flood: the server survives, answers others meanwhile, keeps its memory, and
# ends the connection as docs/guides/http2.md says. The frames are made by hand.

require_relative "../support/http2_wire"
require_relative "../support/server_process_case"

class Http2FloodsTest < ServerProcessCase
  only_over :plain, "they make their own frames, by prior knowledge"

  include Http2Wire
  include Http2Wire::Frames

  APP = <<~RUBY
    LARGE = ("x" * 1_000_000).freeze
    run(lambda do |env|
      case env["PATH_INFO"]
      when "/large" then [200, {}, [LARGE]]
      when "/parts" then [200, {}, Enumerator.new { |parts| 1000.times { parts << LARGE } }]
      else [200, {}, ["hello"]]
      end
    end)
  RUBY

  # Bytes of a flood: a hundred thousand small frames and more.
  FLOOD_BYTES = 1_500_000
  CHUNK_BYTES = 60_000
  # What a flood may add to the process: buffers, the heap's blocks, Ruby's objects of requests. A
  # hundred bytes kept for each frame are more.
  GROWTH_BYTES_MAX = 8_000_000
  # Of a hundred responses whose windows stay shut: what may wait of each, and Ruby's copies.
  STALLED_BYTES_MAX = 160_000_000

  def self.app
    APP
  end

  def self.server_options
    { options: ServerProcess::UNHURRIED }
  end

  def setup
    skip "this build has no HTTP/2" unless Http2Wire.spoken?(server.url)
    100.times { assert_equal "hello", ask("/").body }
    @before = server.resident_bytes
  end

  # Sends what `frames` makes, by a number that goes up, until the server ends the connection or
  # FLOOD_BYTES were sent. Others are answered meanwhile.
  # @param reads [Boolean] whether the client takes what comes
  # @return [Integer, nil] the code of GOAWAY
  def flood(settings = {}, first = "", reads: true, &frames)
    Client.open(server.url) do |client|
      client.send(PREFACE + settings(settings) + first)
      flow = Flow.new(client, reads)
      number = 0
      while flow.sent < FLOOD_BYTES && !flow.over?
        chunk = String.new(encoding: Encoding::BINARY)
        chunk << frames.call(number += 1) while chunk.bytesize < CHUNK_BYTES
        flow.push(chunk)
        assert_equal "hello", ask("/").body
      end
      assert_bounded(GROWTH_BYTES_MAX)
      flow.code
    end
  end

  # What a flooding client writes, as far as the server takes it.
  class Flow
    attr_reader :sent, :code

    def initialize(client, reads)
      @client = client
      @reads = reads
      @sent = 0
      @over = false
    end

    def over?
      @over
    end

    # A server that takes nothing more for so long holds the client back.
    HELD_BACK_S = 0.5

    def push(bytes)
      @client.ledger.sent(bytes)
      limit = Patience::Limit.new(HELD_BACK_S)
      until bytes.empty? || @over
        written = @client.wire.socket.write_nonblock(bytes, exception: false)
        if written == :wait_writable
          wait(limit)
        else
          @sent += written
          bytes = bytes.byteslice(written..)
        end
        read if @reads
      end
    rescue Errno::EPIPE, Errno::ECONNRESET
      finish
    end

    private

    def wait(limit)
      return @client.wire.socket.wait(IO::READABLE | IO::WRITABLE, Patience::SECONDS) if @reads

      @client.wire.socket.wait_writable(0.05)
      finish if limit.over?
    end

    def read
      @client.frame while @client.wire.socket.wait_readable(0)
      finish if @client.goaways.any?
    rescue Wire::Cut
      finish
    end

    # Takes what is left, and the reason why the connection has ended.
    def finish
      @over = true
      @client.frame until @client.goaways.any? || !more?
      @code = @client.goaways.last&.first
    rescue Wire::Error
      @code = @client.goaways.last&.first
    end

    def more?
      @reads || @client.wire.socket.wait_readable(0.2)
    end
  end

  def assert_bounded(bytes)
    grown = server.resident_bytes - @before
    assert_operator grown, :<, bytes, "the server has grown by #{grown} bytes"
  end

  # --- that end the connection ---

  # CVE-2023-44487.
  def test_rapid_reset
    code = flood { |i| get((2 * i) - 1) + rst_stream((2 * i) - 1) }
    assert_equal ENHANCE_YOUR_CALM, code
  end

  # CVE-2025-8671: the client has its streams reset by the server.
  def test_resets_that_the_server_is_made_to_send
    assert_equal ENHANCE_YOUR_CALM, flood { |i| get((2 * i) - 1, [["connection", "close"]]) }
    code = flood { |i| post((2 * i) - 1) + window_update((2 * i) - 1, 0x7fffffff) }
    assert_includes [ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR], code
    code = flood { |i| get((2 * i) - 1) + data((2 * i) - 1, "a") }
    assert_includes [ENHANCE_YOUR_CALM, STREAM_CLOSED], code
  end

  # CVE-2024-27316.
  def test_continuation
    head = raw(HEADERS, END_STREAM, 1, Hpack.block(request_fields))
    assert_equal ENHANCE_YOUR_CALM, flood({}, head) { continuation(1, "", 0) }
    assert_equal ENHANCE_YOUR_CALM,
                 flood({}, head) { |i| continuation(1, Hpack.literal("x-#{i}", "a" * 1000), 0) }
  end

  # CVE-2019-9512, CVE-2019-9515: what answers them is not read. The client is held back, or its
  # connection ends.
  def test_settings_and_pings_whose_answers_are_not_read
    { "SETTINGS" => settings, "PING" => ping }.each do |name, frame|
      code = flood({}, "", reads: false) { frame }
      assert_includes [ENHANCE_YOUR_CALM, nil], code, name
    end
  end

  # --- that are served, for what they cost; newer versions of nghttp2 end them beyond a rate ---

  def assert_harmless(*arguments, &frames)
    assert_includes [ENHANCE_YOUR_CALM, nil], flood(*arguments, &frames)
  end

  # More than a thousand in one read end the connection as well.
  def test_settings_and_pings_whose_answers_are_read
    assert_harmless { settings }
    assert_harmless { ping }
    assert_harmless { |i| settings({ INITIAL_WINDOW_SIZE => i, HEADER_TABLE_SIZE => i % 4096 }) }
  end

  # CVE-2019-9518.
  def test_empty_frames
    assert_harmless({}, post(1)) { data(1) }
    assert_harmless({}, post(1)) { data(1, padding: 0) }
  end

  def test_priority
    assert_harmless { |i| priority((2 * i) + 201, on: (2 * (i % 100)) + 1, exclusive: i % 2) }
  end

  # 16 is PRIORITY_UPDATE (RFC 9218 section 7.1).
  def test_frames_of_unknown_types
    assert_harmless { |i| raw(17 + (i % 200), i % 256, i) }
  end

  def test_window_updates
    assert_harmless({}, post(1)) { window_update(1, 1) + window_update(0, 1) }
  end

  # --- heads ---

  # CVE-2016-6581: a field of 4,000 bytes, and thousands of references of one byte.
  def test_references_to_a_large_field
    large = last_headers(1, Hpack.block(request_fields) + Hpack.indexing("x-a", "a" * 3_900))
    { 30 => [431, nil], 15_000 => [nil, ENHANCE_YOUR_CALM] }.each do |references, outcome|
      bomb = Hpack.block(request_fields) + (Hpack.indexed(62) * references)
      answers = Client.open(server.url) do |client|
        client.send(PREFACE + settings + large)
        (1..50).map do |i|
          client.send(last_headers((2 * i) + 1, bomb))
          response = client.response((2 * i) + 1)
          [response.status, response.code]
        end
      end
      assert_equal [outcome], answers.uniq
      assert_bounded(GROWTH_BYTES_MAX)
      assert_equal "hello", ask("/").body
    end
    assert_equal ENHANCE_YOUR_CALM, flood({}, large) { |i|
      post((2 * i) + 1) + last_headers((2 * i) + 1, Hpack.indexed(62) * 200) # as trailers
    }
    assert_equal ENHANCE_YOUR_CALM, flood({}, large) { |i|
      last_headers((2 * i) + 1, Hpack.block(request_fields) + (Hpack.indexed(62) * 200))
    }
  end

  def test_lists_of_fields_that_are_too_long
    block = Hpack.block(request_fields) + (1..1800).map { |i| Hpack.literal("x-#{i}", "") }.join
    assert_operator block.bytesize, :<, 16_384
    answers = Client.open(server.url) do |client|
      client.send(PREFACE + settings)
      (0..50).map do |i|
        client.send(last_headers((2 * i) + 1, block))
        client.response((2 * i) + 1).status
      end
    end
    assert_equal [431], answers.uniq
    assert_bounded(GROWTH_BYTES_MAX)
  end

  # --- windows ---

  # Responses wait in the server, as far as it lets applications run ahead.
  def test_windows_that_stay_shut
    streams = Array.new(100) { |i| (2 * i) + 1 }
    Client.open(server.url) do |client|
      client.send(PREFACE + settings({ INITIAL_WINDOW_SIZE => 0 }))
      client.send(streams.map { |id| get(id, path: "/parts") }.join)
      client.frame until streams.all? { |id| client.seen(id).fields }
      20.times { assert_equal "hello", ask("/").body }
      assert_bounded(STALLED_BYTES_MAX)
      client.send(streams.map { |id| rst_stream(id) }.join)
      client.send(window_update(0, 1_000_000) + get(201) + window_update(201, 100))
      assert_equal "hello", client.response(201).body
    end
  end

  # CVE-2019-9511: one byte at a time.
  def test_windows_of_one_byte
    Client.open(server.url) do |client|
      client.send(PREFACE + settings({ INITIAL_WINDOW_SIZE => 1 }) + get(1, path: "/large"))
      (1..20).each do |round|
        client.send(window_update(1, 1) * 500)
        client.frame until client.seen(1).body.bytesize == 1 + (500 * round)
        assert_equal "hello", ask("/").body
      end
      assert_bounded(GROWTH_BYTES_MAX)
    end
  end
end
