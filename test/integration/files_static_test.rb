# frozen_string_literal: true

# Files of `--public`, as notes/http.md 2.2 asks for them: conditions, ranges, codings, index files,
# cache rules, what is refused, and what changes while it is served. The folders are asked in their
# order, the application last.

require "digest"
require "time"

require_relative "../support/http_client"
require_relative "../support/served_folder"
require_relative "../support/server_process_case"

class FilesStaticTest < ServerProcessCase
  TEXT = "0123456789abcdefghijklmnopqrstuvwxyz\n"
  LARGE = Random.new(7).bytes(3_000_000).freeze
  ALGORITHMS = %w[auto sba eba enba].freeze
  # Old enough for a date to be a strong validator (RFC 9110 section 8.8.2.2).
  THEN = Time.at(1_700_000_000)

  class << self
    def app
      <<~'RACKUP'
        run lambda { |env|
          if env["PATH_INFO"].start_with?("/burn")
            gate, begun = env["QUERY_STRING"].split("&")
            File.write(begun, "")
            limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
            nil until File.exist?(gate) || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
          end
          fields = { "content-type" => "text/plain", "x-app" => env["REQUEST_METHOD"] }
          [200, fields, ["app #{env["PATH_INFO"]}"]]
        }
      RACKUP
    end

    def folder
      @folder ||= ServedFolder.new(
        "text.txt" => TEXT, "large.bin" => LARGE, "nothing.txt" => "",
        "docs/index.html" => "<h1>docs</h1>", "docs/.git/config" => "out of sight",
        "empty/.keep" => "", ".hidden" => "out of sight", ".well-known/acme" => "well known",
        "middle.bin" => LARGE[0, 600_000], "a b+c.txt" => "blanks", "ümlaut.txt" => "letters", "first.txt" => "of the first",
        "app.js" => "plain " * 100, "app.js.gz" => ServedFolder.gzip("gzip"),
        "app.js.br" => "brotli", "app.js.zst" => "zstandard",
        "old.css" => "plain", "old.css.gz" => "of yesterday",
        "assets/site-0123456789abcdef0123456789abcdef.css" => "body{}",
        "assets/logo.png" => "png", "notes.special" => "special", "page.html" => "<p>"
      ).tap do |made|
        ALGORITHMS.each { |name| made.write("#{name}/large.bin", LARGE) }
        %w[text.txt large.bin].each { |name| File.utime(THEN, THEN, File.join(made.path, name)) }
        File.utime(THEN, THEN, File.join(made.path, "old.css.gz"))
        made.link("inside.txt", "text.txt")
        made.link("outside.txt", made.beside("secret.txt"))
        made.link("outside", File.dirname(made.path))
        File.mkfifo(File.join(made.path, "pipe"))
        UNIXServer.new(File.join(made.path, "socket")).close
      end
    end

    def second
      @second ||= ServedFolder.new("first.txt" => "of the second", "second.txt" => "second")
    end

    def configuration
      path = folder.beside("neverblock.rb")
      File.write(path, <<~CONFIGURATION)
        public_dir "#{folder.path}"
        public_dir "#{second.path}"
        index "index.html"
        cache "/page.html", "no-cache"
        cache "/docs/*", "max-age=60"
        mime "special", "application/x-special"
        #{ALGORITHMS.map { |name| "route \"/#{name}/*\", algorithm: :#{name}" }.join("\n")}
      CONFIGURATION
      path
    end

    def server_options
      { options: ["-C", configuration, "--admin", "http://127.0.0.1:0", "--log-requests"] }
    end

    def run(...)
      super
    ensure
      [@folder, @second].compact.each(&:remove)
      @folder = @second = nil
    end
  end

  def folder
    self.class.folder
  end

  def tag(target = "/text.txt")
    ask(target)["etag"]
  end

  def assert_application(response, message = nil)
    assert_equal 200, response.status, message
    assert response["x-app"], message
  end

  # --- one file ---

  def test_a_file_is_sent_whole_with_what_describes_it # RFC 9110 section 8
    response = ask("/text.txt")
    assert_equal [200, TEXT, TEXT.bytesize.to_s, "text/plain", "bytes", THEN.httpdate],
                 [response.status, response.body, response["content-length"],
                  response["content-type"], response["accept-ranges"], response["last-modified"]]
    assert_match(/\A"[\h-]+"\z/, response["etag"])
    assert_nil response["x-app"]
    assert response["date"]
  end

  def test_a_large_file_arrives_whole_in_every_way_of_asking
    connect do |client|
      client.get("/large.bin")
      assert_equal Digest::MD5.hexdigest(LARGE), Digest::MD5.hexdigest(client.response.body)
    end
    assert_equal LARGE, HTTPClient.get(URI("#{server.url}/large.bin"))
    command = [*Over.curl(server.url), "-sS", "#{server.url}/large.bin"]
    assert_equal LARGE, IO.popen(command, "rb", &:read)
  end

  ALGORITHMS.each do |name|
    define_method("test_a_route_may_say_that_its_files_are_sent_by_#{name}") do
      clients = Array.new(6) { connect }
      clients.each do |client|
        client.write(request("/#{name}/large.bin") +
                     request("/#{name}/large.bin", "Range: bytes=5-9") + request("/text.txt"))
      end
      clients.each do |client|
        assert_equal Digest::MD5.hexdigest(LARGE), Digest::MD5.hexdigest(client.response.body)
        assert_equal [LARGE[5..9], TEXT], [client.response.body, client.response.body]
      end
    ensure
      clients&.each(&:close)
    end
  end

  def test_an_empty_file_is_a_response_without_a_byte
    response = ask("/nothing.txt", "Range: bytes=0-")
    assert_equal [200, "0", ""], [response.status, response["content-length"], response.body]
  end

  # RFC 9110 section 9.3.2.
  def test_head_is_answered_like_get_without_a_body_and_the_connection_goes_on
    connect do |client|
      client.write(request("/text.txt"))
      whole = client.response.fields.reject { |name, _| name.casecmp?("date") }
      client.write(request("/text.txt", "Range: bytes=0-3", method: "HEAD"))
      head = client.response(method: "HEAD")
      assert_equal [200, "", whole],
                   [head.status, head.body, head.fields.reject { |name, _| name.casecmp?("date") }]
      client.write(request("/text.txt", method: "HEAD") + request("/first.txt"))
      assert_equal 200, client.response(method: "HEAD").status
      assert_equal "of the first", client.response.body
    end
  end

  def test_answers_of_files_and_of_the_application_come_in_the_order_of_the_requests
    targets = %w[/text.txt /app /docs/ /second.txt /other /nothing.txt /text.txt]
    connect do |client|
      client.write(targets.map { |target| request(target) }.join)
      assert_equal [TEXT, "app /app", "<h1>docs</h1>", "second", "app /other", "", TEXT],
                   targets.map { client.response.body }
    end
  end

  def test_other_methods_are_the_applications
    %w[POST PUT DELETE OPTIONS PATCH].each do |method|
      body = method == "POST" ? "x" : ""
      assert_equal method, ask("/text.txt", method: method, body: body)["x-app"]
    end
  end

  def test_a_get_with_a_body_is_the_applications
    assert_application ask("/text.txt", body: "a body")
  end

  def test_the_first_folder_that_has_a_file_serves_it_and_what_none_has_is_the_applications
    assert_equal ["of the first", "second", "app /none.txt"],
                 %w[/first.txt /second.txt /none.txt].map { |target| ask(target).body }
  end

  def test_a_query_does_not_matter_and_names_are_decoded_once
    targets = ["/text.txt?v=2", "/a%20b+c.txt", "/%C3%BCmlaut.txt"]
    assert_equal [TEXT, "blanks", "letters"], targets.map { |target| ask(target).body }
    assert_application ask("/a%2520b+c.txt")
  end

  def test_an_absolute_target_names_the_same_file # RFC 9112 section 3.2.2
    assert_equal TEXT, ask("http://test/text.txt").body
  end

  # --- conditions: RFC 9110 section 13 ---

  CONDITIONS = {
    ["If-None-Match: TAG"] => 304,
    ["If-None-Match: W/TAG"] => 304,
    ["If-None-Match: *"] => 304,
    ['If-None-Match: "x", TAG'] => 304,
    ['If-None-Match: "x"'] => 200,
    ["If-None-Match: BARE"] => 200,
    ["If-Modified-Since: DATE"] => 304,
    ["If-Modified-Since: BEFORE"] => 200,
    ["If-Modified-Since: never"] => 200,
    ["If-Modified-Since: FUTURE"] => 200,
    ['If-None-Match: "x"', "If-Modified-Since: DATE"] => 200,
    ["If-None-Match: TAG", "If-Modified-Since: BEFORE"] => 304,
    ["If-Match: TAG"] => 200,
    ["If-Match: *"] => 200,
    ["If-Match: W/TAG"] => 412,
    ['If-Match: "x"'] => 412,
    ["If-Unmodified-Since: DATE"] => 200,
    ["If-Unmodified-Since: BEFORE"] => 412,
    ["If-Match: TAG", "If-Unmodified-Since: BEFORE"] => 200
  }.freeze

  def fill_in(fields)
    tag = self.tag
    fields.map do |field|
      field.sub("TAG", tag).sub("BARE", tag.delete('"'))
        .sub("BEFORE", (THEN - 1).httpdate)
        .sub("FUTURE", (Time.now + 86_400).httpdate)
        .sub("DATE", THEN.httpdate)
    end
  end

  CONDITIONS.each do |fields, status|
    define_method("test_#{fields.join(" and ")} is #{status}") do
      response = ask("/text.txt", *fill_in(fields))
      assert_equal status, response.status
      assert_equal TEXT, response.body if status == 200
    end
  end

  def test_a_304_says_what_a_cache_needs_and_has_no_body # RFC 9110 section 15.4.5
    connect do |client|
      client.write(request("/app.js", "If-None-Match: *") + request("/first.txt"))
      response = client.response
      assert_equal [304, "", nil, nil, "Accept-Encoding"],
                   [response.status, response.body, response["content-length"],
                    response["content-type"], response["vary"]]
      assert response["etag"]
      assert response["date"]
      assert_equal "of the first", client.response.body
    end
  end

  # A cache in between would give it to everybody, for as long as the file may be kept (RFC 9111
  # section 3).
  def test_a_refusal_is_not_kept_as_its_file_is
    path = "/assets/site-0123456789abcdef0123456789abcdef.css"
    { 'If-Match: "x"' => 412, "Range: bytes=99-" => 416 }.each do |field, status|
      response = ask(path, field)
      assert_equal [status, nil, nil, nil],
                   [response.status, response["cache-control"], response["etag"],
                    response["last-modified"]]
    end
    assert_includes ask(path)["cache-control"], "immutable"
  end

  def test_a_file_from_the_future_was_modified_now # RFC 9110 section 8.8.2.1
    folder.write("ahead.txt", "ahead", modified: Time.now + 86_400)
    response = ask("/ahead.txt")
    assert_operator Time.httpdate(response["last-modified"]), :<=, Time.httpdate(response["date"])
    assert_equal 200, ask("/ahead.txt", "If-Modified-Since: #{THEN.httpdate}").status
  end

  # --- ranges: RFC 9110 section 14 ---

  SIZE = TEXT.bytesize
  RANGES = {
    "bytes=0-3" => [206, "0123", "bytes 0-3/#{SIZE}"],
    "bytes=-4" => [206, "xyz\n", "bytes #{SIZE - 4}-#{SIZE - 1}/#{SIZE}"],
    "bytes=30-" => [206, TEXT[30..], "bytes 30-#{SIZE - 1}/#{SIZE}"],
    "bytes=0-99999999999999999999999" => [206, TEXT, "bytes 0-#{SIZE - 1}/#{SIZE}"],
    "bytes=#{SIZE - 1}-" => [206, "\n", "bytes #{SIZE - 1}-#{SIZE - 1}/#{SIZE}"],
    "Bytes=1-1" => [206, "1", "bytes 1-1/#{SIZE}"],
    "bytes=#{SIZE}-" => [416, nil, "bytes */#{SIZE}"],
    "bytes=-0" => [416, nil, "bytes */#{SIZE}"],
    "bytes=99999999999999999999999-" => [416, nil, "bytes */#{SIZE}"],
    "bytes=3-1" => [200, TEXT, nil],
    "bytes=a-b" => [200, TEXT, nil],
    "lines=0-3" => [200, TEXT, nil],
    "bytes" => [200, TEXT, nil],
    "bytes=" => [200, TEXT, nil],
    "bytes=0-0,0-0,0-0" => [206, "0", "bytes 0-0/#{SIZE}"],
    "bytes=0-20,10-36" => [206, TEXT, "bytes 0-#{SIZE - 1}/#{SIZE}"],
    "bytes=0-9,12-20,22-30,32-36" => [200, TEXT, nil]
  }.freeze

  RANGES.each do |range, (status, body, described)|
    define_method("test_a_range of #{range} is #{status} #{described}") do
      response = ask("/text.txt", "Range: #{range}")
      assert_equal [status, described], [response.status, response["content-range"]]
      assert_equal body, response.body if body
    end
  end

  def test_several_ranges_are_one_message_of_parts # RFC 9110 section 14.6
    response = ask("/large.bin", "Range: bytes=10-19,-5,100000-100099")
    boundary = response["content-type"][%r{\Amultipart/byteranges; boundary=(\h+)\z}, 1]
    assert_equal [206, nil], [response.status, response["content-range"]]
    _, *parts, last = response.body.split("--#{boundary}")
    assert_equal "--\r\n", last
    found = parts.map do |part|
      head, body = part.split("\r\n\r\n", 2)
      [head[/Content-Range: (.+)/i, 1].strip, body.delete_suffix("\r\n")]
    end
    ranges = [[10, 19], [2_999_995, 2_999_999], [100_000, 100_099]]
    expected = ranges.map { |from, to| ["bytes #{from}-#{to}/3000000", LARGE[from..to]] }
    assert_equal expected, found
  end

  # RFC 9110 section 13.1.5.
  def test_a_range_is_sent_if_the_file_is_still_the_same_and_else_all_of_it
    {
      tag => 206,
      THEN.httpdate => 206,
      '"other"' => 200,
      "W/#{tag}" => 200,
      (THEN + 1).httpdate => 200
    }.each do |validator, status|
      response = ask("/text.txt", "Range: bytes=0-3", "If-Range: #{validator}")
      assert_equal status, response.status, validator
    end
  end

  def test_conditions_come_before_ranges
    statuses = ["If-None-Match: *", 'If-Match: "x"'].map do |field|
      ask("/text.txt", field, "Range: bytes=0-3").status
    end
    assert_equal [304, 412], statuses
  end

  def test_a_download_is_resumed_where_it_was_cut
    Dir.mktmpdir do |directory|
      path = File.join(directory, "part")
      File.binwrite(path, LARGE[0, 1_234_567])
      command = [*Over.curl(server.url), "-sS", "-C", "-", "-o", path]
      assert system(*command, "#{server.url}/large.bin")
      assert_equal Digest::MD5.hexdigest(LARGE), Digest::MD5.file(path).hexdigest
    end
  end

  # --- codings: RFC 9110 section 12.5.3 ---

  CODINGS = {
    "gzip" => "gzip",
    "gzip, br" => "br",
    "gzip, br, zstd" => "zstd",
    "br;q=0.5, gzip;q=0.9" => "gzip",
    "zstd;q=0, *" => "br",
    "identity" => nil,
    "" => nil,
    "gzip;q=0" => nil,
    "xgzip" => nil,
    "br;q=0.1, identity;q=0.5" => nil,
    "*;q=0" => nil,
    "identity;q=0, gzip" => "gzip"
  }.freeze

  CODINGS.each do |accepted, coding|
    got = coding || "the file as it is"
    define_method("test_a_request_that_accepts #{accepted.inspect} gets #{got}") do
      response = ask("/app.js", "Accept-Encoding: #{accepted}")
      assert_equal [200, coding, "Accept-Encoding", "text/javascript"],
                   [response.status, response["content-encoding"], response["vary"],
                    response["content-type"]]
      expected = {
        "gzip" => ServedFolder.gzip("gzip"), "br" => "brotli", "zstd" => "zstandard",
        nil => "plain " * 100
      }.fetch(coding)
      unless coding == "gzip"
        assert_equal [expected.bytesize.to_s, expected], [response["content-length"], response.body]
      end
      assert_equal "gzip", Zlib.gunzip(response.body) if coding == "gzip"
    end
  end

  def test_each_coding_has_a_tag_and_ranges_of_its_own
    tags = ["", "gzip", "br", "zstd"].map do |coding|
      ask("/app.js", "Accept-Encoding: #{coding}")["etag"]
    end
    assert_equal tags.uniq, tags
    response = ask("/app.js", "Accept-Encoding: br", "Range: bytes=2-3")
    assert_equal [206, "ot", "bytes 2-3/6"],
                 [response.status, response.body, response["content-range"]]
    assert_equal 304, ask("/app.js", "Accept-Encoding: br", "If-None-Match: #{tags[2]}").status
    assert_equal 200, ask("/app.js", "Accept-Encoding: gzip", "If-None-Match: #{tags[2]}").status
  end

  def test_a_coding_made_of_an_earlier_version_is_not_sent
    response = ask("/old.css", "Accept-Encoding: gzip")
    assert_equal [nil, "plain"], [response["content-encoding"], response.body]
  end

  # --- folders ---

  def test_a_folder_is_its_index_file_and_without_its_slash_a_way_there
    index = ask("/docs/")
    assert_equal ["<h1>docs</h1>", "text/html"], [index.body, index["content-type"]]
    { "/docs" => "/docs/", "/docs?a=1&b=2" => "/docs/?a=1&b=2" }.each do |target, location|
      response = ask(target)
      assert_equal [301, location, "0"],
                   [response.status, response["location"], response["content-length"]]
    end
  end

  def test_a_folder_without_an_index_file_is_the_applications
    ["/empty", "/empty/", "/", "/text.txt/"].each do |target|
      assert_application ask(target), target
    end
  end

  def test_no_way_leads_to_another_host
    ["//docs", "/\\docs", "//example.com/docs", "/docs/..//example.com"].each do |target|
      response = ask(target)
      refute_equal 301, response.status, target
    end
  end

  # --- what is said of some files ---

  def test_cache_rules_hold_for_their_paths_and_a_name_made_of_its_content_is_kept_for_ever
    expected = {
      "/page.html" => "no-cache", "/%70age%2ehtml" => "no-cache", "/docs/" => "max-age=60",
      "/text.txt" => nil, "/assets/logo.png" => nil,
      "/assets/site-0123456789abcdef0123456789abcdef.css" => "public, max-age=31536000, immutable"
    }
    assert_equal(expected, expected.to_h { |target, _| [target, ask(target)["cache-control"]] })
  end

  def test_the_end_of_a_name_says_its_type
    expected = {
      "/notes.special" => "application/x-special",
      "/large.bin" => "application/octet-stream",
      "/assets/logo.png" => "image/png",
      "/app.js" => "text/javascript"
    }
    assert_equal(expected, expected.to_h { |target, _| [target, ask(target)["content-type"]] })
  end

  # --- what is refused ---

  TRICKS = [
    "/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/%2e%2e%2fsecret.txt",
    "/.%2e/secret.txt", "/docs/../../secret.txt", "/docs/..%2f..%2fsecret.txt",
    "/%252e%252e/secret.txt", "/..%252fsecret.txt", "/..%5csecret.txt", "/..%c0%afsecret.txt",
    "/%c0%ae%c0%ae/secret.txt", "/%e0%80%ae%e0%80%ae/secret.txt", "/..;/secret.txt",
    "/..%00/secret.txt", "/text.txt%00.png", "/%00", "//secret.txt", "/./../secret.txt",
    "/docs/./../../secret.txt", "/outside.txt", "/outside/secret.txt", "/.hidden",
    "/docs/.git/config", "/%2ehidden", "/.well-known/../.hidden", "/public/../secret.txt", "/..",
    "/%2e%2e", "/%2e", "/.", "/text.txt/../../secret.txt", "/%u002e%u002e/secret.txt", "/%2",
    "/%zz", "/%c3%28", "/%ed%a0%80", "/docs%2findex.html", "/%0a", "/%7f",
    "/../public/../secret.txt", "/#{"a/" * 1_500}x"
  ].freeze

  TRICKS.each do |target|
    define_method("test_no_file_is_served_for #{target[0, 60]}") do
      response = ask(target)
      refute_includes response.body, ServedFolder::SECRET
      refute_includes response.body, "out of sight"
      assert response["x-app"] || [400, 414].include?(response.status), response.inspect
    end
  end

  def test_files_for_robots_and_certificates_are_served
    assert_equal "well known", ask("/.well-known/acme").body
  end

  def test_a_link_within_the_folder_is_followed_and_one_that_leaves_it_is_refused_by_name
    assert_equal TEXT, ask("/inside.txt").body
    assert_application ask("/outside.txt")
    server.await_stderr(/outside\.txt under \S+ is not served: .*`symlinks`/)
  end

  def test_a_pipe_or_a_socket_is_no_file_and_keeps_nobody_waiting
    %w[/pipe /socket].each { |target| assert_application ask(target), target }
  end

  # --- what changes ---

  def test_a_file_that_is_edited_replaced_or_deleted_is_what_the_next_request_gets
    folder.write("changing.txt", "one")
    connect do |client|
      get = -> { client.get("/changing.txt") && client.response }
      first = get.call
      folder.write("changing.txt", "one and two")
      assert_equal ["one", "one and two"], [first.body, get.call.body]
      folder.replace("changing.txt", "one")
      third = get.call
      assert_equal "one", third.body
      refute_equal first["etag"], third["etag"]
      folder.delete("changing.txt")
      assert_application get.call
      folder.write("changing.txt", "back", modified: THEN)
      last = get.call
      assert_equal ["back", THEN.httpdate], [last.body, last["last-modified"]]
    end
  end

  def test_a_file_that_shrinks_while_it_is_sent_is_cut_never_padded
    path = folder.write("shrinking.bin", "x" * 20_000_000)
    connect(receive_buffer_bytes: 4_096) do |client|
      client.get("/shrinking.bin")
      until client.take_line.empty?; end
      File.truncate(path, 0) # of a page that is cut, the kernel would send zeros
      sent, = client.take_to_end
      assert_operator sent.bytesize, :<, 20_000_000
      # Nothing is left of a record of TLS that was cut in two.
      assert_includes ["x", *("" if Over.mode == :tls)], sent.squeeze
    end
    server.await_stderr(
      /warning: \S+\/shrinking\.bin became shorter while it was sent, and its download was cut/
    )
  end

  def test_a_file_that_grows_while_it_is_sent_ends_where_it_was_said_to
    path = folder.write("growing.bin", "x" * 8_000_000)
    connect(receive_buffer_bytes: 4_096) do |client|
      client.get("/growing.bin")
      fields = []
      fields << client.take_line until fields.last == ""
      assert_includes fields, "#{Over.field("Content-Length")}: 8000000"
      File.open(path, "ab") { |file| file.write("y" * 1_000_000) }
      assert_equal 8_000_000, client.take(8_000_000).count("x")
      client.get("/text.txt")
      assert_equal TEXT, client.response.body
    end
  end

  def test_files_are_in_the_log_of_requests
    ask("/text.txt?logged", "If-None-Match: *")
    server.await_stderr(
      %r{info: GET /text\.txt\?logged (HTTP/2 )?304 127\.0\.0\.1 answered by the server: a file$}
    )
  end

  # --- figures ---

  def downloads
    JSON.parse(HTTPClient.get(URI("#{server.admin_url}/status.json"))).fetch("downloads")
  end

  # What a client has read, the loop may count a moment later.
  def await_counted(name, more)
    before = downloads.fetch(name)
    yield
    Patience.await("#{more} more #{name}") { downloads.fetch(name) == before + more }
    Patience.await("none is active") { downloads.fetch("active").zero? }
  end

  def test_downloads_are_counted_by_what_became_of_them
    await_counted("complete_total", 3) do
      ["/text.txt", "/large.bin", "/eba/large.bin"].each { |target| ask(target) }
    end
    await_counted("complete_total", 1) { ask("/large.bin", "Range: bytes=0-9,100-109") }
    await_counted("complete_total", 0) { ask("/text.txt", method: "HEAD") }
    await_counted("not_modified_total", 1) { ask("/text.txt", "If-None-Match: *") }
    folder.write("watched.bin", "x" * 20_000_000)
    await_counted("aborted_total", 1) do
      connect(receive_buffer_bytes: 4_096) do |client|
        client.get("/watched.bin") && client.take_line && client.abort
      end
    end
    figures = downloads
    assert_operator figures.dig("algorithms", "eba", "bytes_total"), :>=, LARGE.bytesize
    assert_operator figures.dig("first_byte_s", "count"), :>=, 4
    assert_operator figures.dig("bytes_per_second", "p50"), :>, 0 # of large.bin
  end

  # --- beside the application ---

  def test_files_are_served_while_a_request_keeps_ruby_busy
    gate = folder.beside("gate-#{new_tag}")
    begun = folder.beside("begun-#{new_tag}")
    busy = connect.tap { |client| client.get("/burn?#{gate}&#{begun}") }
    Patience.await("the request runs") { File.exist?(begun) }
    3.times do
      assert_equal [TEXT, LARGE], ["/text.txt", "/large.bin"].map { |target| ask(target).body }
    end
    File.write(gate, "")
    assert_application busy.response
  ensure
    File.write(gate, "")
    busy&.close
  end

  # The client reads as late as it likes: all that it asked for comes before the end.
  def test_what_stands_behind_a_large_file_is_sent_before_the_connection_ends
    only_over :plain, :tls, "responses of HTTP/2 do not wait for each other"
    [400, 200].each do |status|
      connect do |client|
        last = status == 200 ? request("/text.txt", "Connection: close") : "no request\r\n\r\n"
        client.write(request("/middle.bin") + last)
        3.times { assert_equal TEXT, ask("/text.txt").body }
        assert_equal LARGE[0, 600_000], client.response.body
        assert_equal status, client.response.status
        assert_equal :eof, client.ending
      end
    end
  end
end
