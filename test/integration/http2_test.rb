# frozen_string_literal: true

# HTTP/2 as real clients speak it: curl by prior knowledge, curl over TLS by ALPN, nghttp and
# h2load for many requests at once.

require "digest"
require "open3"
require "tmpdir"

require_relative "../support/browser"
require_relative "../support/http2_wire"
require_relative "../support/self_signed_certificate"
require_relative "../support/server_process_case"

class Http2Test < ServerProcessCase
  only_over :plain, "the test says itself what each client speaks"

  FILES = Dir.mktmpdir("neverblock-http2")
  LARGE = Random.new(1).bytes(5_000_000)
  File.binwrite(File.join(FILES, "large.bin"), LARGE)
  Minitest.after_run { FileUtils.rm_rf(FILES) }

  APP = <<~RUBY
    require "digest"
    ENV_KEYS = %w[SERVER_PROTOCOL REQUEST_METHOD PATH_INFO QUERY_STRING HTTP_HOST HTTP_COOKIE
                  CONTENT_LENGTH HTTPS rack.url_scheme rack.hijack?].freeze
    DOT = "<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>"
    IMAGES = Array.new(200) { |i| "<img src='/dot/\#{i}' width='1' onload='loaded++'>" }.join
    PAGE = <<~HTML
      <script>var loaded = 0</script><p id="told"></p>\#{IMAGES}
      <script>
        onload = () => {
          const h2 = performance.getEntriesByType("resource").filter(e => e.nextHopProtocol == "h2")
          document.getElementById("told").textContent = loaded + " loaded, " + h2.length + " by h2"
        }
      </script>
    HTML
    run(lambda do |env|
      case env["PATH_INFO"]
      when "/env" then [200, {}, [ENV_KEYS.map { |key| "\#{key}=\#{env[key].inspect}\\n" }.join]]
      when "/digest", "/streamed"
        digest = Digest::SHA256.new
        while (part = env["rack.input"].read(10_000))
          digest << part
        end
        [200, {}, [digest.hexdigest]]
      when "/parts"
        [200, {}, Enumerator.new { |parts| 3.times { |i| parts << "part \#{i}\\n" and sleep 0.01 } }]
      when "/chunks" # which the application has made itself
        [200, { "transfer-encoding" => "chunked" }, "3\\r\\none\\r\\n0\\r\\n\\r\\n".each_char]
      when "/wait" then sleep(0.5) && [200, {}, ["waited"]]
      when "/held"
        [200, {}, Enumerator.new { |parts|
          parts << "begun, "
          sleep 0.01 until File.exist?("#{FILES}/go_on")
          parts << "ended"
        }]
      when "/file" then [200, { "x-sendfile" => "#{FILES}/large.bin" }, []]
      when "/large" then [200, { "Content-Type" => "text/plain" }, ["x" * 3_000_000]]
      when %r{\\A/status/(\\d+)\\z} then [$1.to_i, { "X-Upper" => "Case", "Connection" => "close" }, []]
      when "/broken" then [200, {}, Enumerator.new { |parts| parts << "one" and raise "on purpose" }]
      when "/page" then [200, { "content-type" => "text/html" }, [PAGE]]
      when %r{\\A/dot/} then sleep(0.01) && [200, { "content-type" => "image/svg+xml" }, [DOT]]
      when "/hijack" then [200, { "rack.hijack" => ->(io) { io.close } }, []]
      when "/hints"
        env["rack.early_hints"].call("link" => "</a.css>; rel=preload")
        [200, {}, ["hinted"]]
      else [200, {}, ["hello"]]
      end
    end)
  RUBY

  CONFIG = File.join(FILES, "config.rb")
  File.write(CONFIG, <<~RUBY)
    route "/streamed", input: :stream
    early_hints true
  RUBY

  def self.app
    APP
  end

  CERTIFICATE = SelfSignedCertificate.new.write(FILES)

  def self.server_options
    tls = "https://127.0.0.1:0?#{CERTIFICATE}"
    { binds: ["http://127.0.0.1:0", tls], options: ["-C", CONFIG, "--sendfile-root", FILES] }
  end

  def setup
    skip "this build has no HTTP/2" unless http2?
  end

  def http2?
    status, = Open3.capture2("curl", "-s", "--http2-prior-knowledge", "-o", "/dev/null",
                             "-w", "%{http_version}", "#{plain}/")
    status == "2"
  end

  def plain
    server.urls.find { |url| url.start_with?("http:") }
  end

  def secure
    server.urls.find { |url| url.start_with?("https:") }
  end

  # @return [Array(String, Integer)] what curl wrote, and its status
  def curl(path, *options, url: plain, version: "--http2-prior-knowledge")
    output, status = Open3.capture2("curl", "-s", "-k", "--max-time", "60", version, *options,
                                    "#{url}#{path}", binmode: true)
    [output, status.exitstatus]
  end

  def test_the_env_says_http_2
    env, = curl("/env?a=1", "-H", "Cookie: a=1", "-H", "Cookie: b=2", "-H", "Host: example.org")
    assert_includes env, "SERVER_PROTOCOL=\"HTTP/2\"\n"
    assert_includes env, "PATH_INFO=\"/env\"\n"
    assert_includes env, "QUERY_STRING=\"a=1\"\n"
    assert_includes env, "HTTP_HOST=\"example.org\"\n"
    assert_includes env, "HTTP_COOKIE=\"a=1; b=2\"\n"
    assert_includes env, "HTTPS=nil\n"
    assert_includes env, "rack.hijack?=false\n"
  end

  def test_by_alpn_over_tls
    env, = curl("/env", url: secure, version: "--http2")
    assert_includes env, "SERVER_PROTOCOL=\"HTTP/2\"\n"
    assert_includes env, "HTTPS=\"on\"\n"
    env, = curl("/env", url: secure, version: "--http1.1")
    assert_includes env, "SERVER_PROTOCOL=\"HTTP/1.1\"\n"
    digest, = curl("/digest", "--data-binary", "@#{FILES}/large.bin",
                   url: secure, version: "--http2")
    assert_equal Digest::SHA256.hexdigest(LARGE), digest
    file, = curl("/file", url: secure, version: "--http2")
    assert_equal Digest::SHA256.hexdigest(LARGE), Digest::SHA256.hexdigest(file)
  end

  def test_bodies_of_requests_arrive_whole
    %w[/digest /streamed].each do |path|
      digest, = curl(path, "--data-binary", "@#{FILES}/large.bin")
      assert_equal Digest::SHA256.hexdigest(LARGE), digest, path
      digest, = curl(path, "-X", "POST", "-T", "#{FILES}/large.bin", "-H", "Content-Length:")
      assert_equal Digest::SHA256.hexdigest(LARGE), digest, path
    end
  end

  def test_responses
    assert_equal ["part 0\npart 1\npart 2\n", 0], curl("/parts")
    assert_equal ["x" * 3_000_000, 0], curl("/large")
    assert_equal ["one", 0], curl("/chunks")
    file, = curl("/file")
    assert_equal Digest::SHA256.hexdigest(LARGE), Digest::SHA256.hexdigest(file)
  end

  def test_heads
    head, = curl("/large", "-I")
    assert_match(%r{\AHTTP/2 200 \r\n}, head)
    assert_match(/^content-type: text\/plain\r\n/, head)
    [204, 304, 404, 503].each do |status|
      head, code = curl("/status/#{status}", "-i")
      assert_equal 0, code
      assert_match(%r{\AHTTP/2 #{status} \r\n}, head)
      assert_match(/^x-upper: Case\r\n/, head)
      refute_match(/^connection:/, head)
    end
  end

  def test_early_hints
    head, = curl("/hints", "-i")
    assert_match(%r{\AHTTP/2 103 \r\nlink: </a.css>; rel=preload\r\n\r\nHTTP/2 200 }, head)
  end

  def test_what_breaks_off_resets_its_stream
    _, status = curl("/broken")
    assert_equal 92, status # CURLE_HTTP2_STREAM
    assert_match(/^HTTP\/2 500 /, curl("/hijack", "-i").first)
    assert server.await_stderr(/rack\.hijack takes its connection, which requests of HTTP\/2 share/)
    assert_equal ["hello", 0], curl("/")
  end

  def test_a_hundred_requests_wait_at_once
    output, = Open3.capture2e("h2load", "-n", "100", "-c", "1", "-m", "100", "#{plain}/wait")
    assert_match(/100 succeeded, 0 failed, 0 errored/, output)
    seconds = output[/finished in ([\d.]+)s/, 1]
    assert_operator seconds.to_f, :<, 25, output if seconds # one after another takes 50
  end

  def test_nghttp_over_tls
    urls = Array.new(20) { |i| "#{secure}/#{"parts" if i.odd?}?#{i}" }
    output, status = Open3.capture2e("nghttp", "-n", "-s", *urls)
    assert_equal 0, status.exitstatus
    assert_equal 20, output.scan(/ 200 /).size, output
  end

  def test_a_browser_loads_a_page_with_200_images
    skip "there is no Chromium" unless Browser.here?
    words = %w[--headless --no-sandbox --disable-gpu --ignore-certificate-errors --dump-dom
               --virtual-time-budget=20000]
    out, = Open3.capture2(Browser::CHROMIUM, *words, "--user-data-dir=#{FILES}/profile",
                          "#{secure}/page", err: File::NULL)

    assert_includes out, "200 loaded, 200 by h2"
  end

  # The request has begun when its first part is here, and the server drains when GOAWAY is. The
  # answered PING brings the second GOAWAY (RFC 9113 section 6.8).
  def test_a_drain_lets_requests_end
    own = ServerProcess.new(APP, **self.class.server_options).start
    url = own.urls.find { |one| one.start_with?("http:") }
    Http2Wire::Client.open(url) do |client|
      client.send(Http2Wire::PREFACE + Http2Wire::Frames.settings)
      stream = client.request("/held")
      client.frame until client.seen(stream).body == "begun, "
      stopped = Thread.new { own.stop }
      ping = client.await(Http2Wire::PING)
      client.frame while client.goaways.empty?
      assert_predicate own, :running?
      client.send(Http2Wire::Frames.ping(ping.payload, Http2Wire::ACK))
      client.await(Http2Wire::GOAWAY)
      FileUtils.touch(File.join(FILES, "go_on"))
      response = client.response(stream)
      assert_equal [200, "begun, ended", nil], [response.status, response.body, response.code]
      assert_equal :eof, client.ending
      assert_equal [[0, 0x7fffffff], [0, stream]], client.goaways
      assert_predicate stopped.value, :success?
    end
  end
end
