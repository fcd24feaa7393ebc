# frozen_string_literal: true

# Compressed responses as real clients get them: over HTTP/1.1 and HTTP/2, plain and by TLS. A body
# is decoded by zlib here, and by curl in the other codings.

require "digest"
require "English"
require "net/http"
require "open3"
require "tmpdir"
require "zlib"

require_relative "../support/self_signed_certificate"
require_relative "../support/server_process_case"

class CompressionTest < ServerProcessCase
  FILES = Dir.mktmpdir("neverblock-compression")
  Minitest.after_run { FileUtils.rm_rf(FILES) }
  TEXT = (1..400).map { |i| "line #{i} of a text that repeats itself\n" }.join.freeze
  File.write(File.join(FILES, "page.html"), TEXT)

  APP = <<~'RUBY'
    require "#{ENV.fetch("NB_TEST_SUPPORT")}/app_events"
    require "#{ENV.fetch("NB_TEST_SUPPORT")}/app_processes"
    require "rack"
    TEXT = (1..400).map { |i| "line #{i} of a text that repeats itself\n" }.join.freeze
    ROW = Random.new(1)
    LARGE = (1..160_000).map { |i| %({"id":#{i},"name":"user#{ROW.rand(10_000)}","rank":#{ROW.rand}}) }
                        .join(",\n").ljust(10_000_000, "[]").freeze
    GATES = Hash.new { |gates, tag| gates[tag] = Queue.new }
    GATES_LOCK = Mutex.new # who comes first makes the gate, and both may come at once
    def GATES.of(tag) = GATES_LOCK.synchronize { self[tag] }
    AppProcesses.hear { |tag| GATES.of(tag) << true }
    PLAIN = { "content-type" => "text/plain" }.freeze
    # Waits for the test between its two parts.
    Halves = Struct.new(:tag, :ending) do
      def each
        AppProcesses.attend
        yield "first half\n"
        GATES.of(tag).pop
        raise "on purpose" if ending == "raise"

        yield "second half\n"
      ensure
        AppEvents.put("closed", tag)
      end
    end
    Parts = Struct.new(:text, :bytes) do
      def each
        at = 0
        while (part = text.byteslice(at, bytes)) && !part.empty?
          yield part
          at += bytes
        end
      end
    end
    DEFLATED = Rack::Deflater.new(->(_env) { [200, PLAIN.dup, [TEXT]] })
    CONDITIONAL = Rack::ConditionalGet.new(
      ->(_env) { [200, PLAIN.merge("etag" => 'W/"weak"'), [TEXT]] }
    )
    run(lambda do |env|
      fields = Rack::Utils.parse_query(env["QUERY_STRING"])
      case env["PATH_INFO"]
      when "/text", "/off/text", "/always/text" then [200, PLAIN.merge(fields), [TEXT]]
      when "/status" then [fields["code"].to_i, PLAIN, fields["code"] == "204" ? [] : [TEXT]]
      when "/small" then [200, PLAIN, ["x" * 1023]]
      when "/least" then [200, PLAIN, ["x" * 1024]]
      when "/tiny" then [200, PLAIN, Parts.new("tiny", 1)]
      when "/empty" then [200, PLAIN, Parts.new("", 1)]
      when "/large" then [200, { "content-type" => "application/json" }, [LARGE]]
      when "/parts" then [200, PLAIN, Parts.new(LARGE.byteslice(0, 1_000_000), fields["of"].to_i)]
      when "/halves" then [200, PLAIN, Halves.new(fields["tag"], fields["ending"])]
      when "/events" then [200, { "content-type" => "text/event-stream" }, Halves.new(fields["tag"])]
      when "/open" then AppProcesses.say(fields["tag"]) && [200, {}, []]
      when "/deflated" then DEFLATED.call(env)
      when "/conditional" then CONDITIONAL.call(env)
      when "/unchanged" then [304, { "etag" => '"one"' }, []]
      when "/short" then [200, PLAIN.merge("content-length" => "20000"), Parts.new(TEXT, 5_000)]
      when "/named" then [200, PLAIN.merge("x-sendfile" => "#{ENV.fetch("NB_TEST_FILES")}/page.html"), []]
      else [200, PLAIN, ["hello"]]
      end
    end)
  RUBY

  CONFIG = File.join(FILES, "config.rb")
  File.write(CONFIG, <<~RUBY)
    compress true
    route "/off/*", compress: false
    route "/always/*", compress: :always
  RUBY

  def self.app = APP

  CERTIFICATE = SelfSignedCertificate.new.write(FILES)

  def self.server_options
    { binds: ["http://127.0.0.1:0", "https://127.0.0.1:0?#{CERTIFICATE}"],
      options: ["-C", CONFIG, "--sendfile-root", FILES, "--public", FILES,
                "--admin", "http://127.0.0.1:0"],
      env: { "NB_TEST_SUPPORT" => File.expand_path("../support", __dir__),
             "NB_TEST_FILES" => FILES } }
  end

  GZIP = "Accept-Encoding: gzip"

  def plain
    only_over :plain, "the plain address has TLS there"
    server.urls.find { |url| url.start_with?("http:") }
  end

  def secure
    server.urls.find { |url| url.start_with?("https:") }
  end

  def unzip(bytes)
    Zlib.gunzip(bytes)
  end

  # @return [Array(String, Hash, Integer)] body as curl decoded it, fields of the last head, status
  #   of curl
  def curl(path, *options, url: plain)
    head = File.join(FILES, new_tag)
    body, status = Open3.capture2("curl", "-s", "-k", "--max-time", "120", "-D", head, *options,
                                  "#{url}#{path}", binmode: true)
    lines = File.read(head).split("\r\n\r\n").last.to_s.lines.drop(1)
    fields = lines.to_h { |line| line.chomp.split(": ", 2) }.transform_keys(&:downcase)
    [body, fields, status.exitstatus]
  end

  def http2
    _, status = Open3.capture2("curl", "-s", "--http2-prior-knowledge", "-o", "/dev/null", plain)
    status.success? ? ["--http1.1", "--http2-prior-knowledge"] : ["--http1.1"]
  end

  def codings
    features = Open3.capture2("curl", "--version").first
    { "gzip" => :libz, "br" => :brotli, "zstd" => :zstd }.filter_map do |coding, feature|
      coding if features.match?(/\b#{feature}\b/i) && built?(coding)
    end
  end

  def built?(coding)
    ask("/text", "Accept-Encoding: #{coding}")["content-encoding"] == coding
  end

  # --- whole bodies ---

  def test_a_text_is_gzip
    response = ask("/text", GZIP)
    assert_equal "gzip", response["content-encoding"]
    assert_equal "Accept-Encoding", response["vary"]
    assert_equal response.body.bytesize.to_s, response["content-length"]
    assert_operator response.body.bytesize, :<, TEXT.bytesize / 5
    assert_equal TEXT, unzip(response.body)
  end

  def test_each_coding_over_each_protocol
    codings.product(http2,
                    %w[/text /large /parts?of=7000
                       /parts?of=300000]).each do |coding, version, path|
      body, fields, = curl(path, version, "--compressed", "-H", "Accept-Encoding: #{coding}")
      assert_equal coding, fields["content-encoding"], "#{path} #{version}"
      original, fields, = curl(path, version)
      assert_nil fields["content-encoding"]
      assert_equal Digest::MD5.hexdigest(original), Digest::MD5.hexdigest(body),
                   "#{path} #{version} #{coding}"
    end
  end

  PREFERRED = {
    "gzip;q=0" => nil, "identity" => nil, "*;q=0" => nil, "gzip;q=0.5, identity;q=1" => nil,
    "gzip, identity;q=0" => "gzip", "x-gzip" => "gzip", "compress" => nil, "" => nil
  }.freeze

  def test_what_the_client_prefers
    PREFERRED.each do |accepted, coding|
      response = ask("/text", "Accept-Encoding: #{accepted}")
      found = response["content-encoding"]
      coding ? assert_equal(coding, found) : assert_nil(found, accepted)
      assert_equal "Accept-Encoding", response["vary"], accepted
    end
    assert_nil ask("/text")["content-encoding"]
  end

  def test_the_least_size
    assert_nil ask("/small", GZIP)["content-encoding"]
    assert_nil ask("/small", GZIP)["vary"]
    assert_equal "gzip", ask("/least", GZIP)["content-encoding"]
  end

  # The parts of a turn come together; a body that is over by then is a whole one.
  def test_a_short_body_of_unknown_length
    response = ask("/tiny", GZIP)
    body = response["content-encoding"] ? unzip(response.body) : response.body
    assert_equal "tiny", body
    assert_equal "", ask("/empty", GZIP).body
  end

  def test_types_statuses_and_fields
    %w[image/png application/octet-stream video/mp4].each do |type|
      assert_nil ask("/text?content-type=#{type}", GZIP)["content-encoding"], type
    end
    ["application/json;+charset=utf-8", "image/svg%2Bxml", "application/vnd.api%2Bjson",
     "TEXT/HTML"].each do |type|
      assert_equal "gzip", ask("/text?content-type=#{type}", GZIP)["content-encoding"], type
    end
    [200, 201, 404, 422, 500].each { |code|
      assert_equal "gzip", ask("/status?code=#{code}", GZIP)["content-encoding"]
    }
    assert_nil ask("/status?code=204", GZIP)["content-encoding"]
    %w[
      cache-control=private,+no-transform content-encoding=identity content-digest=x digest=x
      repr-digest=x content-md5=x content-range=bytes+0-1/2
    ].each do |field|
      response = ask("/text?#{field}", GZIP)
      assert_equal TEXT, response.body, field
      assert_nil response["vary"], field
    end
  end

  def test_vary_is_extended
    assert_equal "Origin, Accept-Encoding", ask("/text?vary=Origin", GZIP)["vary"]
    assert_equal "accept-encoding", ask("/text?vary=accept-encoding", GZIP)["vary"]
    assert_equal "*", ask("/text?vary=*", GZIP)["vary"]
    assert_equal "Origin, Accept-Encoding", ask("/text?vary=Origin")["vary"]
  end

  def test_accept_ranges_is_left_out
    assert_nil ask("/text?accept-ranges=bytes", GZIP)["accept-ranges"]
    assert_equal "bytes", ask("/text?accept-ranges=bytes")["accept-ranges"]
  end

  # --- validators ---

  def test_a_strong_tag_becomes_weak_and_is_known_again
    path = "/text?etag=%22one%22"
    assert_equal "\"one\"", ask(path)["etag"]
    tag = ask(path, GZIP)["etag"]
    assert_equal "W/\"one\"", tag
    response = ask(path, GZIP, "If-None-Match: #{tag}")
    assert_equal [304, tag, "Accept-Encoding"],
                 [response.status, response["etag"], response["vary"]]
    assert_nil response["content-type"]
    assert_equal 200, ask(path, GZIP, "If-None-Match: W/\"two\"").status
    assert_equal 200, ask(path, GZIP, "If-None-Match: W/\"one\"", method: "POST").status
  end

  def test_the_applications_own_304
    tag = ask("/conditional", GZIP)["etag"]
    assert_equal "W/\"weak\"", tag
    response = ask("/conditional", GZIP, "If-None-Match: #{tag}")
    assert_equal [304, tag, "Accept-Encoding"],
                 [response.status, response["etag"], response["vary"]]
  end

  def test_a_304_has_the_tag_that_the_client_knows
    assert_equal '"one"', ask("/unchanged", GZIP, 'If-None-Match: "one"')["etag"]
    assert_equal 'W/"one"', ask("/unchanged", GZIP, 'If-None-Match: W/"one"')["etag"]
  end

  # A large body whose client has it already is dropped as it comes, and the connection goes on.
  def test_a_304_over_each_protocol
    known = ["-H", "If-None-Match: W/\"one\""]
    http2.each do |version|
      code, = curl("/text?etag=%22one%22", version, "--compressed", "-o", "/dev/null",
                   "-w", "%{http_code}", *known)
      assert_equal "304", code
    end
  end

  def test_head
    response = ask("/text?content-length=#{TEXT.bytesize}&etag=%22one%22", GZIP, method: "HEAD")
    assert_equal "gzip", response["content-encoding"]
    assert_equal "W/\"one\"", response["etag"]
    assert_nil response["content-length"]
    response = ask("/text?content-length=#{TEXT.bytesize}", method: "HEAD")
    assert_equal TEXT.bytesize.to_s, response["content-length"]
    assert_nil response["content-encoding"]
  end

  # --- streams ---

  def open_gate(tag)
    assert_equal 200, ask("/open?tag=#{tag}").status
  end

  # The application waits until the client has decoded its first part.
  def test_each_part_can_be_decoded_at_once
    %w[/halves /events].product(http2).each do |path, version|
      tag = new_tag
      inflate = Zlib::Inflate.new(Zlib::MAX_WBITS + 16)
      IO.popen(
        ["curl", "-s", "-N", "--max-time", "120", version, "-H", GZIP,
         "#{plain}#{path}?tag=#{tag}"], "rb"
      ) do |out|
        text = +""
        text << inflate.inflate(out.readpartial(1_000)) until text == "first half\n"
        open_gate(tag)
        text << inflate.inflate(out.readpartial(1_000)) until inflate.finished?
        assert_equal "first half\nsecond half\n", text
      end
    end
  end

  def test_a_body_that_breaks_off_has_no_valid_end
    http2.each do |version|
      tag = new_tag
      inflate = Zlib::Inflate.new(Zlib::MAX_WBITS + 16)
      path = "/halves?tag=#{tag}&ending=raise"
      IO.popen(["curl", "-s", "-N", "--max-time", "120", version, "-H", GZIP, "#{plain}#{path}"],
               "rb") do |out|
        text = +""
        text << inflate.inflate(out.readpartial(1_000)) until text == "first half\n"
        open_gate(tag)
        assert_equal "", out.read, version
      end
      refute_predicate $CHILD_STATUS, :success?, version
      refute_predicate inflate, :finished?
    end
  end

  def test_a_body_shorter_than_announced_has_no_valid_end
    response = ask("/short", GZIP, tolerate_cut: true)
    assert_predicate response, :cut?
  end

  # Its client leaves while its body is encoded; the server goes on.
  def test_a_client_that_leaves
    tag = new_tag
    connect do |client|
      client.write(request("/halves?tag=#{tag}", GZIP))
      client.take_some(100)
      client.abort
    end
    open_gate(tag)
    events.await("closed", tag)
    10.times do
      connect do |client|
        client.write(request("/large", GZIP))
        client.take_some(1_000)
        client.abort
      end
    end
    assert_equal TEXT, unzip(ask("/text", GZIP).body)
  end

  def test_many_responses_on_one_connection
    connect do |client|
      client.write([request("/text", GZIP), request("/large", GZIP), request("/", GZIP),
                    request("/text")].join)
      assert_equal TEXT, unzip(client.response.body)
      assert_equal 10_000_000, unzip(client.response.body).bytesize
      assert_equal "hello", client.response.body
      assert_equal TEXT, client.response.body
    end
  end

  # The pieces of large bodies go to threads: small requests are answered meanwhile.
  def test_large_bodies_beside_small_ones
    large = Array.new(3) do
      Thread.new { unzip(ask("/large", GZIP).body).bytesize }
    end
    small = Array.new(200) { ask("/", GZIP).body }
    assert_equal [10_000_000] * 3, large.map(&:value)
    assert_equal ["hello"], small.uniq
  end

  # --- what is left alone ---

  def test_net_http_notices_nothing
    assert_equal TEXT, Net::HTTP.get(URI("#{plain}/text"))
  end

  def test_rack_deflater_encodes_once
    response = ask("/deflated", GZIP)
    assert_equal "gzip", response["content-encoding"]
    assert_equal TEXT, unzip(response.body)
  end

  def test_files_are_not_compressed
    %w[/page.html /named].each do |path|
      response = ask(path, GZIP)
      assert_nil response["content-encoding"], path
      assert_equal TEXT, response.body
    end
  end

  def test_a_range_of_the_application
    response = ask("/text?content-range=bytes+0-1/2", GZIP, "Range: bytes=0-1")
    assert_nil response["content-encoding"]
  end

  def test_routes
    assert_nil ask("/off/text", GZIP)["content-encoding"]
    assert_nil ask("/off/text", GZIP)["vary"]
    assert_equal "gzip", ask("/always/text", GZIP)["content-encoding"]
  end

  # --- figures ---

  def compression_figures
    JSON.parse(Net::HTTP.get(URI("#{server.admin_url}/status.json"))).fetch("compression")
  end

  def test_figures
    before = compression_figures
    body = ask("/text", GZIP).body
    after = compression_figures
    assert_equal(
      { "gzip_total" => 1, "br_total" => 0, "zstd_total" => 0,
        "input_bytes_total" => TEXT.bytesize, "output_bytes_total" => body.bytesize },
      after.to_h { |name, value| [name, value - before.fetch(name)] }
    )
    metrics = Net::HTTP.get(URI("#{server.admin_url}/metrics"))
    { "compressed_responses_total{coding=\"gzip\"}" => "gzip_total",
      "compression_output_bytes_total" => "output_bytes_total" }.each do |name, figure|
      assert_includes metrics, "neverblock_#{name} #{after.fetch(figure)}\n"
    end
  end

  # --- secrets ---

  # @return [String, nil] Content-Encoding
  def coding_of(path, *fields, url: secure)
    curl(path, "-o", "/dev/null", *[GZIP, *fields].flat_map { |field|
      ["-H", field]
    }, url: url)[1]["content-encoding"]
  end

  def test_a_request_that_another_site_may_have_caused
    %w[cross-site same-site].each do |site|
      assert_nil coding_of("/text", "Cookie: a=1", "Sec-Fetch-Site: #{site}"), site
    end
    %w[same-origin none].each do |site|
      assert_equal "gzip", coding_of("/text", "Cookie: a=1", "Sec-Fetch-Site: #{site}"), site
    end
    assert_nil coding_of("/text", "Cookie: a=1")
    assert_nil coding_of("/text", "Authorization: Basic YTpi")
    assert_equal "gzip", coding_of("/text", "Sec-Fetch-Site: cross-site")
  end

  def test_what_lifts_the_rule
    assert_equal "gzip", coding_of("/always/text", "Cookie: a=1", "Sec-Fetch-Site: cross-site")
    assert_equal "gzip",
                 coding_of("/text?cache-control=public,max-age=9", "Cookie: a=1",
                           "Sec-Fetch-Site: cross-site")
    assert_equal "gzip", coding_of("/text", "Cookie: a=1", url: plain)
    assert_nil coding_of("/text", "Cookie: a=1", "X-Forwarded-Proto: https", url: plain)
    assert_nil coding_of("/text", "Cookie: a=1", "Sec-Fetch-Site: cross-site", url: plain)
  end
end
