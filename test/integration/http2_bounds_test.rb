# frozen_string_literal: true

# Bounds of HTTP/2 (docs/guides/http2.md), each met by frames that no real client sends; what the
# server counts of them.

require "net/http"

require_relative "../support/http2_wire"
require_relative "../support/server_process_case"

class Http2BoundsTest < ServerProcessCase
  only_over :plain, "they make their own frames, by prior knowledge"

  include Http2Wire
  include Http2Wire::Frames

  PRIORITY_UPDATE = 0x10

  CONFIGURATION = <<~RUBY
    limits { http2_streams 3; http2_resets 5; http2_frames 200; header_bytes 4_096; body_bytes 1_000 }
    cancel_on_disconnect true
  RUBY

  FILES = Dir.mktmpdir("neverblock-bounds")
  FileUtils.mkdir(File.join(FILES, "public"))
  File.binwrite(File.join(FILES, "public", "large.bin"), "x" * 300_000)
  Minitest.after_run { FileUtils.rm_rf(FILES) }

  APP = <<~RUBY
    run(lambda do |env|
      case env["PATH_INFO"]
      when "/wait" then sleep(600) && [200, {}, []]
      when "/read" then [200, {}, [env["rack.input"].read]]
      when "/big" then [200, {}, ["x" * 3_000_000]]
      when "/long" then [200, {}, [env.sum { |name, value| name.start_with?("HTTP_X_") ? value.size : 0 }.to_s]]
      else [200, {}, ["hello"]]
      end
    end)
  RUBY

  def self.app
    APP
  end

  def self.server_options
    File.write(File.join(FILES, "config.rb"), CONFIGURATION)
    options = ["-C", File.join(FILES, "config.rb"), "--admin", "http://127.0.0.1:0"]
    { options: [*options, "--log-requests", "--log-format", "json"] }
  end

  def setup
    skip "this build has no HTTP/2" unless Http2Wire.spoken?(server.url)
    @before = figures
  end

  def figures
    text = Net::HTTP.get(URI("#{server.admin_url}/status.json"))
    JSON.parse(text).fetch("http2")
  end

  # How much has been counted since the test began, once it is what is expected.
  def assert_counted(expected)
    Patience.await("#{expected} is counted") do
      now = figures
      expected.all? { |path, count| now.dig(*path) - @before.dig(*path) == count }
    end
  end

  def connect(url = server.url)
    Client.open(url) do |client|
      client.send(PREFACE + settings)
      yield client
    end
  end

  def test_the_server_says_its_bounds
    connect { |client| assert_equal 3, client.await(SETTINGS).settings[3] }
  end

  def test_streams_beyond_the_limit_are_refused
    connect do |client|
      streams = Array.new(4) { client.request("/wait") }
      refused = client.await(RST_STREAM)
      assert_equal [streams.last, REFUSED_STREAM], [refused.stream, refused.code]
      assert_counted(["bounds", "streams_total"] => 1, ["streams"] => 3, ["connections"] => 1)
    end
    assert_counted(["streams"] => 0, ["connections"] => 0)
  end

  def test_a_client_that_knows_the_limit_and_passes_it_is_turned_away
    connect do |client|
      client.acknowledge
      4.times { client.request("/wait") }
      assert_equal PROTOCOL_ERROR, client.await(GOAWAY).code
      assert_counted(["bounds", "streams_total"] => 1, %w[goaways PROTOCOL_ERROR] => 1)
    end
  end

  def test_resets_beyond_the_limit_end_the_connection
    connect do |client|
      6.times do
        stream = client.request("/wait")
        client.send(rst_stream(stream))
      end
      assert_equal ENHANCE_YOUR_CALM, client.await(GOAWAY).code
    end
    assert_counted(["bounds", "resets_total"] => 1, ["reset_by_client_total"] => 6,
                   %w[goaways ENHANCE_YOUR_CALM] => 1, ["requests_total"] => 6)
  end

  # They cost the server as much (CVE-2025-8671).
  def test_resets_that_the_client_provokes_count_as_well
    connect do |client|
      6.times do
        stream = client.request("/", fields: { "connection" => "close" })
        client.await(RST_STREAM, stream: stream)
      end
      assert_equal ENHANCE_YOUR_CALM, client.await(GOAWAY).code
    end
    assert_counted(["bounds", "resets_total"] => 1, ["reset_by_server_total"] => 6)
  end

  def test_heads_and_bodies_beyond_their_limits_are_counted
    connect do |client|
      fields = Array.new(50) { |i| ["x-#{i}", "y" * 100] }.to_h
      assert_match(/\A431 /, client.response(client.request("/", fields: fields)).body)
      long = client.request("/read", method: "POST", fields: { "content-length" => "1001" },
                                     body: true)
      assert_match(/\A413 /, client.response(long).body)
      unsaid = client.request("/read", method: "POST", body: true)
      client.send(data(unsaid, "x" * 1_001))
      assert_match(/\A413 /, client.response(unsaid).body)
      assert_equal "hello", client.response(client.request("/")).body
    end
    assert_counted(["bounds", "head_total"] => 1, ["bounds", "body_total"] => 2)
  end

  # PRIORITY of the connection is a violation, and no bound.
  def test_a_violation_counts_as_no_bound
    connect do |client|
      client.send(priority(0))
      assert_equal PROTOCOL_ERROR, client.await(GOAWAY).code
    end
    assert_counted(%w[goaways PROTOCOL_ERROR] => 1, ["bounds", "continuations_total"] => 0)
  end

  # What is owed is more than the server makes ahead: frames that come later wait for it to leave.
  def test_a_violation_is_told_behind_what_the_client_has_not_read
    Client.open(server.url, receive_buffer_bytes: 4_096) do |client|
      client.send(PREFACE + settings({ INITIAL_WINDOW_SIZE => 10_000_000 }) +
                  window_update(0, 10_000_000))
      client.request("/large.bin")
      2.times { client.request("/big") }
      ["", *[ping] * 4, raw(PRIORITY_UPDATE, 0, 0)].each do |frame|
        try(client, frame)
        connect { |other| assert_equal "hello", other.response(other.request("/")).body }
      end
      assert_equal :eof, client.ending
      assert_equal [FRAME_SIZE_ERROR], client.goaways.map(&:first)
    end
  end

  # Writes as much as the socket takes, if the connection has not ended.
  def try(client, bytes)
    client.wire.socket.write_nonblock(bytes, exception: false)
  rescue Errno::EPIPE, Errno::ECONNRESET
    nil
  end

  # It is not read any more, or its connection ends: what comes first is left to the kernel's
  # buffers.
  def test_a_client_that_does_not_read_its_answers_is_held_back
    connect do |client|
      pings = ping * 1_000
      Patience.await("a bound is met") do
        try(client, pings)
        now = figures["bounds"]
        %w[unread_frames_total control_frames_total].any? do |name|
          now[name] > @before["bounds"][name]
        end
      end
    end
    connect { |client| assert_equal "hello", client.response(client.request("/")).body }
  end

  # In frames of the least size that a client may be held to.
  def test_a_head_of_the_largest_limit_comes_in_one_piece
    config = File.join(FILES, "large_heads.rb")
    File.write(config, "limits { header_bytes 262_144 }\n")
    head = Hpack.block(request_fields(path: "/long") +
                       Array.new(60) { |i| ["x-#{i}", "v" * 3_950] })
    ServerProcess.run(APP, options: ["-C", config]) do |server|
      connect(server.url) do |client|
        first, *others = head.scan(/.{1,16384}/mn)
        frames = [raw(HEADERS, END_STREAM, 1, first),
                  *others.map { |part| continuation(1, part, 0) }, continuation(1, "")]
        client.send(frames.join)
        assert_equal (60 * 3_950).to_s, client.response(1).body[/\d+/]
      end
    end
  end

  # So much within so little time that no client of this test keeps to it.
  SLOW = <<~RUBY
    timeouts { body 0.5; rate_min 100_000_000 }
    route "/streamed", input: :stream
    public_dir "#{FILES}/public"
  RUBY

  def with_slow_server
    config = File.join(FILES, "slow.rb")
    File.write(config, SLOW)
    options = ["-C", config, "--admin", "http://127.0.0.1:0"]
    ServerProcess.run(APP.sub('"/read"', '"/read", "/streamed"'), options: options) do |server|
      status = -> { JSON.parse(Net::HTTP.get(URI("#{server.admin_url}/status.json"))) }
      connect(server.url) { |client| yield client, status }
    end
  end

  # By the rate of its stream, though bytes come all the time and others are busy.
  def test_a_body_that_comes_too_slowly_ends_alone
    with_slow_server do |client, status|
      %w[/read /streamed].each_with_index do |path, i|
        slow = client.request(path, method: "POST", body: true)
        answer = trickle(client, slow)
        assert_match(/\A408 /, answer.payload)
        assert_equal i + 1, status.call.dig("http2", "bounds", "slow_body_total")
      end
      assert_equal 2, status.call.dig("requests", "timed_out_total")
    end
  end

  # @return [Frame] the answer's content
  def trickle(client, slow)
    loop do
      client.send(data(slow, "x"))
      quick = client.request("/")
      loop do
        frame = client.await(DATA)
        return frame if frame.stream == slow
        break if frame.stream == quick
      end
    end
  end

  def test_a_download_whose_window_stays_shut_ends_alone
    with_slow_server do |client, status|
      file = client.request("/large.bin")
      client.send(window_update(0, 1_000_000))
      reset = nil
      until reset
        quick = client.request("/")
        frame = nil
        until reset || (frame&.stream == quick && frame.flag?(END_STREAM))
          frame = client.frame
          reset = frame if frame.type == RST_STREAM && frame.stream == file
        end
      end
      assert_equal CANCEL, reset.code
      now = status.call
      assert_equal 1, now.dig("http2", "bounds", "slow_response_total")
      assert_equal 1, now.dig("downloads", "timed_out_total")
    end
  end

  def test_the_log_tells_the_protocol
    connect do |client|
      client.response(client.request("/?application")).body
      client.response(client.request("/?server", method: "CONNECTED" * 4)).body
      body = client.request("/?body", method: "POST", body: true)
      client.send(data(body, "x" * 1_001))
      client.response(body).body
    end
    server.await_stderr(%r{"target":"/\?application","protocol":"HTTP/2","status":200})
    server.await_stderr(%r{"target":"/\?server","status":501.*"protocol":"HTTP/2"})
    server.await_stderr(%r{"target":"/\?body","status":413.*"protocol":"HTTP/2"})
  end
end
