# frozen_string_literal: true

# HTTP/2 as it is spoken by the clients that people have: curl, nghttp, node's http2 and Chromium,
# each over TLS by ALPN, and the first three by prior knowledge too. What they send arrives whole,
# what they ask for comes whole, and what one stream does keeps no other.

require "digest"
require "json"
require "open3"

require_relative "../support/browser"
require_relative "../support/served_folder"
require_relative "../support/self_signed_certificate"
require_relative "../support/server_process_case"

class HTTP2ClientsTest < ServerProcessCase
  only_over :plain, "the test says itself what each client speaks"

  LARGE = Random.new(34).bytes(5_000_000).freeze
  SMALL = "0123456789"

  APP = <<~'RUBY'
    require "digest"
    require "rack"
    SUBSCRIBERS = []
    MEETING = []
    # Those that wait, until there are as many as each asks for.
    MEET = lambda do |env|
      query = Rack::Utils.parse_query(env["QUERY_STRING"])
      MEETING << (inbox = Queue.new)
      all = query["of"].to_i
      MEETING.shift(all).each { |other| other << true } if MEETING.size == all
      inbox.pop
      [200, {}, [query["n"]]]
    end
    DIGEST = lambda do |env|
      digest = Digest::SHA256.new
      bytes = 0
      while (part = env["rack.input"].read(10_000))
        digest << part
        bytes += part.bytesize
      end
      [200, {}, ["#{bytes} #{digest.hexdigest}"]]
    end
    FORM = lambda do |env|
      file, note = Rack::Request.new(env).params.values_at("file", "note")
      bytes = file[:tempfile].read
      [200, {}, ["#{note} #{file[:filename]} #{bytes.bytesize} #{Digest::SHA256.hexdigest(bytes)}"]]
    end
    EVENTS = lambda do |_env|
      body = lambda do |stream|
        SUBSCRIBERS << (inbox = Queue.new)
        stream.write("data: begun\n\n")
        loop { stream.write("data: #{inbox.pop}\n\n") }
      ensure
        SUBSCRIBERS.delete(inbox)
        stream.close
      end
      [200, { "content-type" => "text/event-stream" }, body]
    end
    SAY = lambda do |env|
      SUBSCRIBERS.each { |inbox| inbox << env["QUERY_STRING"] }
      [200, {}, ["said"]]
    end
    ECHO = lambda do |env|
      body = lambda do |stream|
        loop { stream.write(env["rack.input"].readpartial(10_000)) }
      rescue EOFError
        nil
      ensure
        stream.close
      end
      [200, {}, body]
    end
    PAGE = ->(_env) { [200, { "content-type" => "text/html" }, ["<title>page</title>"]] }
    ROUTES = {
      "/meet" => MEET, "/digest" => DIGEST, "/streamed" => DIGEST, "/form" => FORM,
      "/events" => EVENTS, "/say" => SAY, "/echo" => ECHO, "/page" => PAGE
    }.freeze
    run(lambda do |env|
      status, fields, body = ROUTES.fetch(env["PATH_INFO"]).call(env)
      [status, { "x-protocol" => env["SERVER_PROTOCOL"], **fields }, body]
    end)
  RUBY
  NODE_CLIENT = File.expand_path("../support/http2_client.js", __dir__)

  class << self
    def app
      APP
    end

    def folder
      @folder ||= ServedFolder.new("large.bin" => LARGE, "small.txt" => SMALL)
    end

    def server_options
      File.write(folder.beside("config.rb"), <<~RUBY)
        route "/streamed", input: :stream
        route "/echo", input: :stream
      RUBY
      { binds: ["http://127.0.0.1:0", certified("https://127.0.0.1:0")],
        options: ["-C", folder.beside("config.rb"), "--public", folder.path,
                  *ServerProcess.one_process("requests that meet in the application")] }
    end

    def certified(url)
      made = SelfSignedCertificate.new
      File.write(folder.beside("cert.pem"), made.pem)
      File.write(folder.beside("key.pem"), made.key_pem)
      "#{url}?cert=#{folder.beside("cert.pem")}&key=#{folder.beside("key.pem")}"
    end

    def run(reporter, options = {})
      super
    ensure
      @browser&.quit
      @folder&.remove
    end

    def browser
      @browser ||= Browser.start(untrusted: true)
    end
  end

  def setup
    spoken, = Open3.capture2("curl", "-s", "--http2-prior-knowledge", "-o", File::NULL,
                             "-w", "%{http_version}", "#{plain}/page")
    skip "this build has no HTTP/2" unless spoken == "2"
  end

  # -- curl ---------------------------------------------------------------------

  def test_curl_uploads
    each_address do |url|
      %w[/digest /streamed].each do |path|
        assert_equal told(LARGE), curl(url, path, "--data-binary", "@#{large}"), path
        # A body whose length is not told.
        unknown = ["-X", "POST", "-T", large, "-H", "Content-Length:"]
        assert_equal told(LARGE), curl(url, path, *unknown), path
        assert_equal told("a=b"), curl(url, path, "-d", "a=b"), path
      end
      form = ["-F", "note=hello", "-F", "file=@#{large};filename=large.bin"]
      assert_equal "hello large.bin #{told(LARGE)}", curl(url, "/form", *form)
    end
  end

  def test_curl_downloads
    each_address do |url|
      assert_equal told(LARGE), told(curl(url, "/large.bin"))
      head = curl(url, "/large.bin", "-I")
      assert_match(%r{\AHTTP/2 200 \r\n}, head)
      assert_match(/^content-length: 5000000\r\n/, head)
      etag = head[/^etag: (\S+)/, 1]
      same = curl(url, "/large.bin", "-i", "-H", "If-None-Match: #{etag}")
      assert_match(%r{\AHTTP/2 304 \r\n}, same)
    end
  end

  def test_curl_asks_for_ranges
    each_address do |url|
      assert_equal "345", curl(url, "/small.txt", "-r", "3-5")
      part = curl(url, "/small.txt", "-i", "-r", "-2")
      assert_match(%r{\AHTTP/2 206 \r\n}, part)
      assert_match(%r{^content-range: bytes 8-9/10\r\n}, part)
      assert part.end_with?("\r\n\r\n89"), part
      assert_match(%r{\AHTTP/2 416 \r\n}, curl(url, "/small.txt", "-i", "-r", "20-"))
      rest = curl(url, "/large.bin", "-r", "4000000-")
      assert_equal told(LARGE.byteslice(4_000_000..)), told(rest)
    end
  end

  # By ALPN: curl 7.88 alone fails with prior knowledge, at nginx too (its status is 16).
  def test_curl_asks_for_many_at_once
    rest = Array.new(29) { ["-o", "-", "#{secure}/large.bin"] }.flatten
    all = curl(secure, "/large.bin", "-Z", "--no-progress-meter", "-r", "0-99999", "-o", "-", *rest)
    assert_equal 30 * 100_000, all.bytesize
  end

  # -- nghttp -------------------------------------------------------------------

  def test_nghttp_shows_what_comes
    each_address do |url|
      out = nghttp("-v", "#{url}/small.txt")
      assert_match(/recv \(stream_id=\d+\) :status: 200/, out)
      assert_match(/recv \(stream_id=\d+\) content-length: 10/, out)
      assert_match(/recv SETTINGS frame/, out)
      assert_includes out, SMALL
    end
  end

  def test_nghttp_uploads_with_padding_and_trailers
    each_address do |url|
      %w[/digest /streamed].each do |path|
        [[], %w[-b 200], ["--trailer", "x-checked: yes"], %w[--no-content-length],
         %w[--expect-continue]].each do |words|
          out = nghttp("-d", large, *words, "#{url}#{path}")
          assert_includes out, told(LARGE), "#{path} #{words}"
        end
      end
    end
  end

  def test_nghttp_asks_many_times_on_one_connection
    each_address do |url|
      out = nghttp("-m", "80", "#{url}/meet?of=80&n=1")
      assert_equal "1" * 80, out
      stat = nghttp("-n", "-s", "-m", "100", "#{url}/small.txt")
      assert_equal 100, stat.scan(/ 200 +10 /).size, stat
    end
  end

  def test_nghttp_with_small_windows
    each_address do |url|
      assert_equal told(LARGE), told(nghttp("-w", "10", "-W", "12", "#{url}/large.bin"))
    end
  end

  # -- node ---------------------------------------------------------------------

  def test_node_has_many_streams_in_parallel
    each_address { |url| assert_equal (0..49).map(&:to_s), node(url, "parallel") }
  end

  def test_node_uploads_in_parallel
    each_address { |url| node(url, "uploads").then { |all| assert_equal all["sent"], all["seen"] } }
  end

  def test_node_writes_and_reads_one_stream_in_turn
    each_address { |url| assert_equal %w[one two three], node(url, "conversation") }
  end

  def test_node_hears_events_while_it_asks_on_other_streams
    heard = %w[begun one two].map { |word| "data: #{word}\n\n" }
    each_address { |url| assert_equal heard, node(url, "events") }
  end

  def test_node_pauses_a_download_and_asks_meanwhile
    each_address do |url|
      assert_equal({ "others" => [told("small")] * 2, "seen" => told(LARGE) }, node(url, "pauses"))
    end
  end

  # -- Chromium -----------------------------------------------------------------

  # With what protocol the application says that each came.
  UPLOADS = <<~JS
    const [done] = arguments;
    (async () => {
      const bytes = Uint8Array.from({ length: 5_000_000 }, (_, n) => (n * 7) % 251);
      const protocols = [];
      const post = async (path, body) => {
        const response = await fetch(path, { method: "POST", body });
        protocols.push(response.headers.get("x-protocol"));
        return response.text();
      };
      const form = new FormData();
      form.append("note", "hello");
      form.append("file", new Blob([bytes]), "five.bin");
      const [small, large, multipart] = await Promise.all(
        [post("/digest", "0123456789"), post("/digest", bytes), post("/form", form)]
      );
      done({ small, large, multipart, protocols });
    })().catch((error) => done({ error: String(error) }));
  JS

  def test_chromium_uploads
    bytes = Array.new(5_000_000) { |n| (n * 7) % 251 }.pack("C*")
    assert_equal(
      { "small" => told(SMALL), "large" => told(bytes),
        "multipart" => "hello five.bin #{told(bytes)}", "protocols" => ["HTTP/2"] * 3 },
      in_page(UPLOADS)
    )
  end

  # Twenty requests begin when the stream has; each makes an event.
  EVENTS = <<~JS
    const [done] = arguments;
    (async () => {
      const heard = [];
      const source = new EventSource("/events");
      const all = new Promise((resolve, reject) => {
        source.onerror = () => reject("the stream broke");
        source.onmessage = ({ data }) => heard.push(data) == 21 && resolve();
      });
      await new Promise((resolve) => (source.onopen = resolve));
      while (!heard.includes("begun")) await new Promise((resolve) => setTimeout(resolve, 10));
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const response = await fetch("/say?" + n);
          return `${await response.text()} by ${response.headers.get("x-protocol")}`;
        })
      );
      await all;
      source.close();
      done({ first: heard[0], events: heard.slice(1).map(Number).sort((a, b) => a - b), answers });
    })().catch((error) => done({ error: String(error) }));
  JS

  def test_chromium_hears_events_while_other_requests_run
    assert_equal(
      { "first" => "begun", "events" => (0..19).to_a, "answers" => ["said by HTTP/2"] * 20 },
      in_page(EVENTS)
    )
  end

  private

  def plain
    server.urls.find { |url| url.start_with?("http:") }
  end

  def secure
    server.urls.find { |url| url.start_with?("https:") }
  end

  def each_address(&block)
    [plain, secure].each(&block)
  end

  def large
    File.join(self.class.folder.path, "large.bin")
  end

  # As the application tells of a body.
  def told(bytes)
    "#{bytes.bytesize} #{Digest::SHA256.hexdigest(bytes)}"
  end

  def version(url)
    url.start_with?("https:") ? ["--http2"] : ["--http2-prior-knowledge"]
  end

  def curl(url, path, *options)
    run_quietly("curl", "-s", "-k", "--max-time", Patience::SECONDS.to_s, *version(url), *options,
                "#{url}#{path}")
  end

  def nghttp(*words)
    run_quietly("nghttp", "-y", *words)
  end

  def node(url, task)
    skip "there is no node" unless system("command -v node >/dev/null")

    JSON.parse(run_quietly("node", NODE_CLIENT, url, task))
  end

  # @return [String] standard output, of a command that ends well
  def run_quietly(*command)
    out, err, status = Open3.capture3(*command, binmode: true)
    assert status.success?, "#{command}: #{status.exitstatus}\n#{err}\n#{server.stderr}"
    out
  end

  # @return [Hash] what the script has called `done` with
  def in_page(script)
    skip "there is no Chromium" unless Browser.here?

    page = self.class.browser.create_page
    page.go_to("#{secure}/page")
    page.evaluate_async(script, Patience::SECONDS)
  ensure
    page&.close
  end
end
