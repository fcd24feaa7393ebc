# frozen_string_literal: true

# Uploads that an application reads while they come: routes with `input: :stream`, through the real
# command, by real clients.

require "digest/sha2"
require "open3"
require "tmpdir"

require_relative "../support/http_client"
require_relative "../support/server_process_case"

class RackStreamedUploadsTest < ServerProcessCase
  # Far below the body, above what Ruby's own strings leave for the collector.
  MEMORY_BYTES = 30 << 20
  PART = Random.new(3).bytes(1 << 20).freeze
  FOLDER = Dir.mktmpdir("neverblock-routes").tap do |path|
    Minitest.after_run { FileUtils.rm_rf(path) }
  end

  class << self
    def app
      <<~RACKUP
        require "digest/sha2"
        require "json"
        require "rack/lint"
        require "#{File.expand_path("../support/app_events", __dir__)}"

        count = lambda do |input|
          sum, bytes, buffer = Digest::SHA256.new, 0, +""
          while input.read(16_384, buffer)
            sum << buffer
            bytes += buffer.bytesize
          end
          seen = { bytes: bytes, sha256: sum.hexdigest, input: input.class }
          [200, { "content-type" => "application/json" }, [JSON.generate(seen)]]
        end

        app = lambda do |env|
          tag = env["QUERY_STRING"]
          AppEvents.put("called", tag)
          case env["PATH_INFO"]
          when "/up/count" then count.call(env["rack.input"])
          when "/"
            [200, { "content-type" => "text/plain" }, ["hello \#{env["rack.input"].class}"]]
          when "/up/unread" then [200, { "content-type" => "text/plain" }, ["hello"]]
          when "/up/copy"
            bytes = IO.copy_stream(env["rack.input"], File::NULL)
            [200, { "content-type" => "text/plain" }, [bytes.to_s]]
          when "/up/fails"
            begin
              env["rack.input"].read
            rescue NeverBlock::ClientGone
              AppEvents.put("failed", tag)
              raise
            end
          else [404, { "content-type" => "text/plain" }, ["nothing here"]]
          end
        end
        map("/lint") { run Rack::Lint.new(->(env) { count.call(env["rack.input"]) }) }
        map("/") { run app }
      RACKUP
    end

    def server_options
      path = File.join(FOLDER, "neverblock.rb")
      File.write(path, <<~FILE)
        route "/up/*", input: :stream
        route "/lint", input: :stream
        limits { body_bytes 250_000_000 }
      FILE
      { options: ["-C", path] }
    end
  end

  def setup
    skip "streamed input is asked for in our configuration file" unless neverblock?
  end

  def test_two_hundred_megabytes_arrive_through_a_small_window
    upload(1_000_000)
    before = server.resident_bytes
    [false, true].each do |chunked|
      seen, checksum = upload(200_000_000, chunked: chunked)
      assert_equal [200_000_000, checksum, "NeverBlock::StreamInput"],
                   seen.values_at("bytes", "sha256", "input")
    end
    assert_operator server.resident_peak_bytes - before, :<, MEMORY_BYTES
  end

  def test_a_path_beside_the_route_gets_its_body_whole
    assert_equal "hello StringIO", ask("/", method: "POST", body: "abc").body
  end

  def test_rack_lint_has_nothing_to_say
    assert_equal 3, parsed(ask("/lint", method: "POST", body: "abc"))["bytes"]
  end

  def test_copy_stream_copies
    assert_equal PART.bytesize.to_s, ask("/up/copy", method: "POST", body: PART).body
  end

  def test_net_http_uploads_in_chunks
    uri = URI(server.url)
    body = PART * 3
    answer = HTTPClient.open(uri) do |http|
      post = Net::HTTP::Post.new("/up/count", "Transfer-Encoding" => "chunked")
      post.body_stream = StringIO.new(body)
      [http.request(post), http.get("/")]
    end
    assert_equal [body.bytesize, Digest::SHA256.hexdigest(body)],
                 JSON.parse(answer.first.body).values_at("bytes", "sha256")
    assert_match(/hello/, answer.last.body)
  end

  def test_net_http_waits_for_100_where_it_is_asked_to
    uri = URI(server.url)
    http = HTTPClient.to(uri)
    http.continue_timeout = 60 # it would hang that long if nobody said so
    post = Net::HTTP::Post.new("/up/count", "Expect" => "100-continue")
    post.body = PART
    answer = Timeout.timeout(50) { http.request(post) }
    assert_equal Digest::SHA256.hexdigest(PART), JSON.parse(answer.body)["sha256"]
  end

  def test_curl_sends_when_it_is_told_to_and_not_when_it_is_answered
    only_over :plain, :tls, "curl waits for 100 (Continue) in HTTP/1.1 alone"
    skip "there is no curl" unless system("command -v curl >/dev/null")
    path = File.join(FOLDER, "body")
    File.binwrite(path, PART)
    curl = [
      *Over.curl(server.url), "-sv", "--max-time", "50", "--expect100-timeout", "60",
      "-H", "Expect: 100-continue", "-T", path
    ]
    out, trace, = Open3.capture3(*curl, "#{server.url}/up/count")
    assert_equal Digest::SHA256.hexdigest(PART), JSON.parse(out)["sha256"]
    assert_match(/^< HTTP\/1.1 100 Continue/, trace)
    out, trace, = Open3.capture3(*curl, "#{server.url}/up/unread")
    assert_equal "hello", out
    refute_match(/100 Continue/, trace)
    assert_match(/^< Connection: close/, trace)
  end

  def test_a_slow_upload_keeps_nobody_waiting
    tag = new_tag
    connect do |slow|
      slow.write("POST /up/count?#{tag} HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\nabc")
      events.await("called", tag) # it runs, and waits for the rest
      20.times { assert_match(/hello/, ask("/").body) }
      seen, = upload(1_000_000)
      assert_equal 1_000_000, seen["bytes"]
      slow.write("def")
      assert_equal 6, parsed(slow.response(method: "POST"))["bytes"]
    end
  end

  def test_many_slow_uploads_at_once
    clients = Array.new(50) { server.connect }
    tags = clients.map { new_tag }
    clients.zip(tags) do |client, tag|
      client.write("POST /up/count?#{tag} HTTP/1.1\r\nHost: test\r\n" \
                   "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
    end
    tags.each { |tag| events.await("called", tag) } # all run together
    clients.each { |client| client.write("2\r\nbc\r\n0\r\n\r\n") }
    assert_equal([3] * 50,
                 clients.map { |client| parsed(client.response(method: "POST"))["bytes"] })
  ensure
    clients&.each(&:close)
  end

  def test_a_client_that_leaves_ends_the_read_and_nothing_is_logged
    tag = new_tag
    connect do |client|
      client.write("POST /up/fails?#{tag} HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\nabc")
      events.await("called", tag)
    end
    events.await("failed", tag)
    assert_match(/hello/, ask("/").body)
    refute_match(/failed/, server.stderr)
  end

  def test_a_body_past_the_limit_is_413
    assert_equal 413, ask("/up/count", "Content-Length: 250000001", method: "POST").status
  end

  private

  def upload(bytes, chunked: false)
    digest = Digest::SHA256.new
    connect(deadline_s: 60) do |client|
      length = chunked ? "Transfer-Encoding: chunked" : "Content-Length: #{bytes}"
      client.write("POST /up/count HTTP/1.1\r\nHost: test\r\n#{length}\r\n\r\n")
      each_part(bytes) do |part|
        digest << part
        client.write(chunked ? "#{part.bytesize.to_s(16)}\r\n".b << part << "\r\n" : part)
      end
      client.write("0\r\n\r\n") if chunked
      [parsed(client.response(method: "POST")), digest.hexdigest]
    end
  end

  def each_part(bytes)
    while bytes.positive?
      yield part = PART.byteslice(0, [bytes, PART.bytesize].min)
      bytes -= part.bytesize
    end
  end
end
