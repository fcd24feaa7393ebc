# frozen_string_literal: true

# Bounds of HTTP/2 (docs/guides/http2.md), each met by frames that no real client sends; what the
# server counts of them.

require "net/http"

require_relative "../support/http2_peer"
require_relative "../support/server_process_case"

class Http2BoundsTest < ServerProcessCase
  SETTINGS = <<~RUBY
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
      else [200, {}, ["hello"]]
      end
    end)
  RUBY

  def self.app
    APP
  end

  def self.server_options
    File.write(File.join(FILES, "config.rb"), SETTINGS)
    options = ["-C", File.join(FILES, "config.rb"), "--admin", "http://127.0.0.1:0"]
    { options: [*options, "--log-requests", "--log-format", "json"] }
  end

  def setup
    skip "frames are made for plain addresses" if server.url.start_with?("https:")
    skip "this build has no HTTP/2" unless http2?
    @before = figures
  end

  def http2?
    Http2Peer.open(server.url) { |client| client.read&.type == :settings }
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

  def open(**options, &block)
    Http2Peer.open(server.url, **options, &block)
  end

  def test_the_server_says_its_bounds
    open { |client| assert_equal 3, client.await(:settings).settings[3] }
  end

  def test_streams_beyond_the_limit_are_refused
    open do |client|
      streams = Array.new(4) { client.request("/wait") }
      refused = client.await(:rst_stream)
      assert_equal [streams.last, Http2Peer::REFUSED_STREAM], [refused.stream, refused.code]
      assert_counted(["bounds", "streams_total"] => 1, ["streams"] => 3, ["connections"] => 1)
    end
    assert_counted(["streams"] => 0, ["connections"] => 0)
  end

  def test_a_client_that_knows_the_limit_and_passes_it_is_turned_away
    open do |client|
      client.await(:settings)
      client.frame(:settings, flags: Http2Peer::ACK)
      4.times { client.request("/wait") }
      assert_equal Http2Peer::PROTOCOL_ERROR, client.await(:goaway).code
      assert_counted(["bounds", "streams_total"] => 1, %w[goaways PROTOCOL_ERROR] => 1)
    end
  end

  def test_resets_beyond_the_limit_end_the_connection
    open do |client|
      6.times do
        stream = client.request("/wait")
        client.frame(:rst_stream, stream: stream, payload: [Http2Peer::CANCEL].pack("N"))
      end
      assert_equal Http2Peer::ENHANCE_YOUR_CALM, client.await(:goaway).code
    end
    assert_counted(["bounds", "resets_total"] => 1, ["reset_by_client_total"] => 6,
                   %w[goaways ENHANCE_YOUR_CALM] => 1, ["requests_total"] => 6)
  end

  # They cost the server as much (CVE-2025-8671).
  def test_resets_that_the_client_provokes_count_as_well
    open do |client|
      6.times do
        stream = client.request("/", fields: { "connection" => "close" })
        client.await(:rst_stream, stream)
      end
      assert_equal Http2Peer::ENHANCE_YOUR_CALM, client.await(:goaway).code
    end
    assert_counted(["bounds", "resets_total"] => 1, ["reset_by_server_total"] => 6)
  end

  def test_heads_and_bodies_beyond_their_limits_are_counted
    open do |client|
      fields = Array.new(50) { |i| ["x-#{i}", "y" * 100] }.to_h
      assert_match(/\A431 /, client.content(client.request("/", fields: fields)))
      long = client.request("/read", method: "POST", fields: { "content-length" => "1001" },
                                     body: true)
      assert_match(/\A413 /, client.content(long))
      unsaid = client.request("/read", method: "POST", body: true)
      client.data(unsaid, "x" * 1_001)
      assert_match(/\A413 /, client.content(unsaid))
      assert_equal "hello", client.content(client.request("/"))
    end
    assert_counted(["bounds", "head_total"] => 1, ["bounds", "body_total"] => 2)
  end

  # It is not read any more, or its connection ends: what comes first is left to the kernel's
  # buffers.
  def test_a_client_that_does_not_read_its_answers_is_held_back
    open do |client|
      ping = client.bytes_of(:ping, payload: "12345678") * 1_000
      Patience.await("a bound is met") do
        client.try(ping)
        now = figures["bounds"]
        %w[unread_frames_total control_frames_total].any? do |name|
          now[name] > @before["bounds"][name]
        end
      end
    end
    open { |client| assert_equal "hello", client.content(client.request("/")) }
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
      Http2Peer.open(server.url) { |client| yield client, status }
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

  # @return [Http2Peer::Frame] the answer's content
  def trickle(client, slow)
    loop do
      client.data(slow, "x")
      quick = client.request("/")
      loop do
        frame = client.await(:data)
        return frame if frame.stream == slow
        break if frame.stream == quick
      end
    end
  end

  def test_a_download_whose_window_stays_shut_ends_alone
    with_slow_server do |client, status|
      file = client.request("/large.bin")
      client.open_window(0, 1_000_000)
      reset = nil
      until reset
        quick = client.request("/")
        frame = nil
        until reset || (frame&.stream == quick && frame.end?)
          frame = client.read
          reset = frame if frame.type == :rst_stream && frame.stream == file
        end
      end
      assert_equal Http2Peer::CANCEL, reset.code
      now = status.call
      assert_equal 1, now.dig("http2", "bounds", "slow_response_total")
      assert_equal 1, now.dig("downloads", "timed_out_total")
    end
  end

  def test_the_log_tells_the_protocol
    open do |client|
      client.content(client.request("/?application"))
      client.content(client.request("/?server", method: "CONNECTED" * 4))
      body = client.request("/?body", method: "POST", body: true)
      client.data(body, "x" * 1_001)
      client.content(body)
    end
    server.await_stderr(%r{"target":"/\?application","protocol":"HTTP/2","status":200})
    server.await_stderr(%r{"target":"/\?server","status":501.*"protocol":"HTTP/2"})
    server.await_stderr(%r{"target":"/\?body","status":413.*"protocol":"HTTP/2"})
  end
end
