# frozen_string_literal: true

# Files that an application names: by X-Sendfile, by X-Accel-Redirect, by a body that responds to
# to_path. The server sends them, with the request's conditions and ranges. The application keeps
# its status and its fields, and its body is closed once.

require "digest"
require "rack"
require "time"

require_relative "../support/served_folder"
require_relative "../support/server_process_case"

class FilesNamedTest < ServerProcessCase
  TEXT = "0123456789abcdefghijklmnopqrstuvwxyz\n"
  LARGE = Random.new(8).bytes(2_500_000).freeze
  THEN = Time.at(1_700_000_000)

  class << self
    # What it answers is in the query: a status, field lines, a body.
    def app
      <<~RACKUP
        require "json"
        require "#{File.expand_path("app_events", File.join(__dir__, "../support"))}"
        class PathBody
          def initialize(path, tag, part) = (@path, @tag, @part = path, tag, part)
          def to_path = @path
          def each = yield(@part || File.binread(@path))
          def close = AppEvents.put("close", @tag)
        end
        class OtherBody
          def initialize(tag) = @tag = tag
          def each = yield("the application's own")
          def close = AppEvents.put("close", @tag)
        end
        class Answer
          def call(env)
            said = JSON.parse(env["HTTP_X_SAY"] || "{}")
            tag, path = said.values_at("tag", "to_path")
            body = path ? PathBody.new(path, tag, said["part"]) : OtherBody.new(tag)
            seen = env.select { |name, _| name =~ /SENDFILE|ACCEL|sendfile/ }.to_json
            fields = { "x-seen" => seen }.merge(said.fetch("fields", {}))
            [said.fetch("status", 200), fields, body]
          end
        end
        files = Rack::Files.new("#{folder.path}")
        map("/rack_files") { run files }
        map("/sendfile") { use Rack::Sendfile, "X-Sendfile"; run Answer.new }
        map("/accel") { use Rack::Sendfile, "X-Accel-Redirect"; run Answer.new }
        map("/plain") { use Rack::Sendfile; run Answer.new }
        run Answer.new
      RACKUP
    end

    def folder
      @folder ||= ServedFolder.new(
        "text.txt" => TEXT, "large.bin" => LARGE, "sub/a b.txt" => "blanks",
        "sub/ümlaut.txt" => "letters", "100%.txt" => "percent", "raw?name.txt" => "raw",
        ".hidden" => "an application may name it"
      ).tap do |made|
        made.link("outside.txt", made.beside("secret.txt"))
        made.link("inside.txt", "text.txt")
        FileUtils.mkdir_p("#{made.path}-private")
        File.write("#{made.path}-private/other.txt", ServedFolder::SECRET)
        File.mkfifo(File.join(made.path, "pipe"))
        %w[1 2].each do |release|
          FileUtils.mkdir_p(made.beside("releases/#{release}"))
          File.write(made.beside("releases/#{release}/new.txt"), release)
        end
        File.symlink("releases/1", made.beside("current"))
      end
    end

    def configuration
      path = folder.beside("neverblock.rb")
      File.write(path, <<~CONFIGURATION)
        sendfile { roots "#{folder.path}"; roots "#{folder.beside("current")}" }
        accel "/internal/", "#{folder.path}"
        accel "/internal/deep/", "#{folder.path}/sub"
      CONFIGURATION
      path
    end

    def server_options
      { options: ["-C", configuration] }
    end

    def run(...)
      super
    ensure
      @folder&.remove
      @folder = nil
    end
  end

  def folder
    self.class.folder
  end

  def path(name = "text.txt")
    File.join(folder.path, name)
  end

  # part: what the body's each yields; nil: the whole file
  def say(fields = {}, *request, to_path: nil, part: nil, status: nil, at: "/", tag: new_tag,
          method: "GET")
    said = { "fields" => fields, "to_path" => to_path, "part" => part, "status" => status,
             "tag" => tag }.compact
    ask(at, "X-Say: #{JSON.generate(said, ascii_only: true)}", *request, method: method)
  end

  # One test for each way of naming the same file.
  WAYS = {
    "X-Sendfile" => ->(test, fields, *request, **rest) do
      test.say(fields.merge("X-Sendfile" => test.path), *request, **rest)
    end,
    "X-Accel-Redirect" => ->(test, fields, *request, **rest) do
      test.say(fields.merge("x-accel-redirect" => "/internal/text.txt"), *request, **rest)
    end,
    "to_path" => ->(test, fields, *request, **rest) do
      test.say(fields, *request, to_path: test.path, **rest)
    end
  }.freeze

  WAYS.each do |name, way|
    named = "test_#{name} sends the file with the application's fields and closes its body once"
    define_method(named) do
      tag = new_tag
      own = {
        "content-type" => "text/x-own", "cache-control" => "private",
        "set-cookie" => %w[a=1 b=2], "content-disposition" => "attachment"
      }
      response = way.call(self, own, tag: tag)
      assert_equal [200, TEXT, TEXT.bytesize.to_s, "bytes"],
                   [response.status, response.body, response["content-length"],
                    response["accept-ranges"]]
      assert_equal ["text/x-own", "private", "attachment", %w[a=1 b=2]],
                   [response["content-type"], response["cache-control"],
                    response["content-disposition"], response.all("set-cookie")]
      assert_empty(response.fields.map(&:first).grep(/\Ax-(sendfile|accel)/i))
      events.await("close", tag)
      assert_equal 1, events.all("close", tag).size
    end

    # RFC 9111 section 3.
    define_method("test_#{name} does not let a refusal be kept as its file is") do
      { 'If-Match: "x"' => 412, "Range: bytes=99-" => 416 }.each do |field, status|
        own = {
          "cache-control" => "public, max-age=60", "expires" => THEN.httpdate, "x-own" => "kept"
        }
        response = way.call(self, own, field)
        assert_equal [status, nil, nil, "kept"],
                     [response.status, response["cache-control"], response["expires"],
                      response["x-own"]]
      end
    end

    define_method("test_#{name} obeys conditions and ranges") do
      tag = way.call(self, {})["etag"]
      {
        ["If-None-Match: #{tag}"] => 304,
        ['If-None-Match: "x"'] => 200,
        ['If-Match: "x"'] => 412,
        ["Range: bytes=0-3"] => 206,
        ["Range: bytes=99-"] => 416,
        ["Range: bytes=0-3", 'If-Range: "x"'] => 200
      }.each do |fields, status|
        assert_equal status, way.call(self, {}, *fields).status, fields.inspect
      end
      range = way.call(self, { "content-type" => "text/x-own" }, "Range: bytes=4-9")
      assert_equal ["456789", "bytes 4-9/#{TEXT.bytesize}", "6", "text/x-own"],
                   [range.body, range["content-range"], range["content-length"],
                    range["content-type"]]
    end

    define_method("test_#{name} answers HEAD like GET") do
      whole, head = %w[GET HEAD].map do |method|
        way.call(self, { "content-type" => "text/x-own" }, method: method)
      end
      whole_fields, head_fields = [whole, head].map do |response|
        response.fields.reject { |field, _| field.casecmp?("date") }
      end
      assert_equal [200, "", whole_fields], [head.status, head.body, head_fields]
    end

    define_method("test_#{name} keeps the application's validators") do
      fields = { "etag" => '"own"', "last-modified" => THEN.httpdate }
      response = way.call(self, fields)
      assert_equal ['"own"', THEN.httpdate], [response["etag"], response["last-modified"]]
      asked = [
        'If-None-Match: "own"', "If-Modified-Since: #{THEN.httpdate}",
        "If-Modified-Since: #{(THEN - 1).httpdate}"
      ]
      assert_equal [304, 304, 200], asked.map { |field| way.call(self, fields, field).status }
    end

    define_method("test_#{name} keeps the application's status") do
      response = way.call(self, {}, "Range: bytes=0-3", status: 404)
      assert_equal [404, TEXT], [response.status, response.body]
      none = { "content-range" => "bytes */37" }
      response = way.call(self, none, "Range: bytes=0-3", status: 416)
      assert_equal [416, "bytes */37", TEXT],
                   [response.status, response["content-range"], response.body]
    end

    # RFC 9110 section 14.3.
    define_method("test_#{name} has no ranges where the application says none") do
      %w[none NONE].each do |none|
        own = { "accept-ranges" => none, "etag" => '"own"' }
        response = way.call(self, own, "Range: bytes=0-3")
        assert_equal [200, TEXT, none],
                     [response.status, response.body, response["accept-ranges"]]
        assert_equal 304, way.call(self, own, 'If-None-Match: "own"').status
      end
      own = { "accept-ranges" => "bytes" }
      assert_equal 206, way.call(self, own, "Range: bytes=0-3").status
    end

    # RFC 9111 section 4.2.2.
    define_method("test_#{name} does not say how long a response may be kept") do
      assert_nil way.call(self, {})["last-modified"]
    end

    define_method("test_#{name} is not asked where a status has no body") do
      response = way.call(self, {}, status: 204)
      assert_equal [204, ""], [response.status, response.body]
    end

    named = "test_#{name} serves ranges of several parts with the application's type in each"
    define_method(named) do
      response = way.call(self, { "content-type" => "text/x-own" }, "Range: bytes=0-0,5-5")
      assert_equal 200, response.status # two parts of so small a file cost more than all of it
    end
  end

  # As nginx has it: the file that is named is a whole one, and its part is what the request says.
  WAYS.except("to_path").each do |name, way|
    define_method("test_#{name} with a part of the application's own is a whole file") do
      [[206, "bytes 3-5/37"], [206, nil], [200, "bytes 3-5/37"]].each do |status, range|
        own = { "Content-Range" => range, "x-own" => "kept" }.compact
        whole = way.call(self, own, status: status)
        assert_equal [200, TEXT, nil, "bytes", "kept"],
                     [whole.status, whole.body, whole["content-range"], whole["accept-ranges"],
                      whole["x-own"]]
        part = way.call(self, own, "Range: bytes=0-3", status: status)
        assert_equal [206, "0123", ["bytes 0-3/37"]],
                     [part.status, part.body, part.all("content-range")]
        head = way.call(self, own, status: status, method: "HEAD")
        assert_equal [200, "37", nil], [head.status, head["content-length"], head["content-range"]]
      end
      several = way.call(self, { "content-range" => ["bytes 3-5/37", "bytes 6-7/37"] }, status: 206)
      assert_equal [200, TEXT, []], [several.status, several.body, several.all("content-range")]
    end
  end

  # Shrine's rack_response answers like this.
  def test_a_part_of_a_file_is_what_the_bodys_each_yields
    range = { "content-range" => "bytes 3-5/37", "content-length" => "3" }
    {
      [206, range] => "345",
      [200, range] => "345",
      [206, {}] => "345",
      [200, { "content-length" => "3" }] => "345"
    }.each do |(status, fields), part|
      tag = new_tag
      answer = say(fields, to_path: path, part: part, status: status, tag: tag)
      assert_equal [status, part, fields["content-range"]],
                   [answer.status, answer.body, answer["content-range"]], fields.inspect
      events.await("close", tag)
      next unless fields["content-length"]

      head = say(fields, to_path: path, part: part, status: status, method: "HEAD")
      assert_equal [status, fields["content-length"]], [head.status, head["content-length"]]
    end
  end

  def test_a_large_file_arrives_whole_in_each_way_and_its_connection_goes_on
    [
      { "fields" => { "x-sendfile" => path("large.bin") } },
      { "fields" => { "x-accel-redirect" => "/internal/large.bin" } },
      { "to_path" => path("large.bin") }
    ].each do |said|
      connect do |client|
        2.times do
          client.write(request("/", "X-Say: #{JSON.generate(said)}"))
          assert_equal Digest::MD5.hexdigest(LARGE), Digest::MD5.hexdigest(client.response.body)
        end
      end
    end
  end

  def test_several_ranges_of_a_named_file
    own = { "content-type" => "text/x-own", "x-sendfile" => path("large.bin") }
    response = say(own, "Range: bytes=0-9,1000-1009")
    assert_equal 206, response.status
    assert_equal 2, response.body.scan("Content-Type: text/x-own\r\n").size
    assert_includes response.body, LARGE[1000..1009]
  end

  def test_a_length_the_application_gave_its_empty_body_is_no_length_of_the_file
    response = say({ "x-sendfile" => path, "content-length" => "0" })
    assert_equal [TEXT.bytesize.to_s, TEXT], [response["content-length"], response.body]
  end

  def test_names_are_taken_as_each_field_has_them
    names = ["sub/a b.txt", "sub/ümlaut.txt", "100%.txt"]
    assert_equal %w[blanks letters percent],
                 names.map { |name| say({ "x-sendfile" => path(name) }).body }
    {
      "/internal/sub/a%20b.txt" => "blanks",
      "/internal/sub/a b.txt" => "blanks",
      "/internal/sub/%C3%BCmlaut.txt" => "letters",
      "/internal/sub/ümlaut.txt" => "letters",
      "/internal/deep/a%20b.txt" => "blanks",
      "/internal/100%25.txt" => "percent",
      "/internal/text.txt?sig=a%2Fb" => TEXT,
      "/internal/raw?name.txt" => "raw",
      "/internal/raw%3Fname.txt?sig=1" => "raw"
    }.each { |name, body| assert_equal body, say({ "x-accel-redirect" => name }).body, name }
    assert_equal TEXT, say({ "x-sendfile" => path("inside.txt") }).body
  end

  # The application names what it finds at its own place, where the links have been followed.
  def test_a_root_that_is_a_link_to_the_newest_release_follows_it
    first, second = %w[1 2].map { |release| folder.beside("releases/#{release}/new.txt") }
    old = say({ "x-sendfile" => first })
    assert_equal [200, "1"], [old.status, old.body]
    File.symlink("releases/2", folder.beside("newer"))
    File.rename(folder.beside("newer"), folder.beside("current"))
    Patience.await("the new release to be known") { say({ "x-sendfile" => second }).status == 200 }
    newer = say({ "x-sendfile" => folder.beside("current/new.txt") })
    assert_equal [200, "2"], [newer.status, newer.body]
    assert_equal 404, say({ "x-sendfile" => first }).status
  end

  REFUSED = {
    "none of the folders" => [
      "/etc/passwd", "BESIDE/secret.txt", "ROOT-private/other.txt", "text.txt", "ROOT", "",
      "relative/../text.txt"
    ],
    "no path of a file" => [
      "ROOT/../secret.txt", "ROOT/./text.txt", "ROOT/text.txt/", "ROOT/sub/../../secret.txt"
    ],
    "`symlinks`" => ["ROOT/outside.txt"],
    "there is no such file" => ["ROOT/none.txt", "ROOT/text.txt/x"],
    "it is a folder" => ["ROOT/sub"],
    "a pipe" => ["ROOT/pipe"]
  }.freeze

  REFUSED.each do |reason, names|
    define_method("test_what is refused of X-Sendfile is 404, and the log says: #{reason}") do
      names.reject(&:empty?).each do |name|
        named = name.sub("ROOT", folder.path).sub("BESIDE", File.dirname(folder.path))
        response = say({ "X-Sendfile" => named, "set-cookie" => "a=1" })
        assert_equal [404, "404 Not Found\n"], [response.status, response.body], name
        refute_includes response.fields.to_s, "passwd"
      end
      server.await_stderr(/X-Sendfile: .* is not sent \(404\): .*#{Regexp.escape(reason)}/)
    end
  end

  def test_what_is_refused_of_x_accel_redirect_is_404
    [
      "/other/text.txt", "/internal", "/internal/../secret.txt", "/internal/%2e%2e/secret.txt",
      "/internal/outside.txt", "/internal/none", "/internal/sub", "//internal/text.txt",
      "/internal/text.txt/", "/internal/text%2Etxt/",
      "http://other.example/x"
    ].each { |name| assert_equal 404, say({ "X-Accel-Redirect" => name }).status, name }
    server.await_stderr(/X-Accel-Redirect: .* no `accel` maps/)
  end

  def test_a_name_is_logged_without_its_control_bytes # Rack CVE-2025-27111
    say({ "X-Sendfile" => "/tmp/\u{9b}31m-\u00e4\t.txt" })
    server.await_stderr(/31m.*$/)
    assert_match(%r{X-Sendfile: /tmp/\\xc2\\x9b31m-\\xc3\\xa4\\x09\.txt is not sent}, server.stderr)
  end

  # Rack CVE-2025-61780, CVE-2026-34830.
  def test_what_clients_say_of_folders_never_reaches_the_application
    response = say({}, "X-Sendfile-Type: X-Accel-Redirect", "X-Accel-Mapping: /=/internal/",
                   "X-SENDFILE-TYPE: X-Sendfile")
    mapping = "#{folder.path}/=/internal/,#{folder.path}/sub/=/internal/deep/"
    assert_equal({ "HTTP_X_ACCEL_MAPPING" => mapping }, JSON.parse(response["x-seen"]))
  end

  # --- what applications use ---

  def test_rack_sendfile_needs_no_more_than_its_type
    %w[/sendfile /accel /plain].each do |at|
      tag = new_tag
      own = { "content-type" => "text/x-own" }
      response = say(own, "Range: bytes=0-3", to_path: path, at: at, tag: tag)
      assert_equal [206, "0123", "text/x-own"],
                   [response.status, response.body, response["content-type"]], at
      assert_empty(response.fields.map(&:first).grep(/\Ax-(sendfile|accel)/i))
      events.await("close", tag)
      assert_equal 1, events.all("close", tag).size
    end
  end

  def test_rack_sendfile_with_a_name_that_has_to_be_encoded
    %w[/sendfile /accel].each do |at|
      assert_equal "letters", say({}, to_path: path("sub/ümlaut.txt"), at: at).body, at
    end
  end

  def test_rack_files
    whole = ask("/rack_files/large.bin")
    assert_equal Digest::MD5.hexdigest(LARGE), Digest::MD5.hexdigest(whole.body)
    part = ask("/rack_files/large.bin", "Range: bytes=10-19")
    assert_equal [206, LARGE[10..19]], [part.status, part.body]
    known = ask("/rack_files/large.bin", "If-Modified-Since: #{whole["last-modified"]}")
    assert_equal 304, known.status
    head = ask("/rack_files/large.bin", method: "HEAD")
    assert_equal [200, "", LARGE.bytesize.to_s], [head.status, head.body, head["content-length"]]
  end

  def test_a_file_that_cannot_be_opened_is_read_by_the_application
    assert_equal 500, say({}, to_path: path("none.txt")).status
    assert_equal "", say({}, to_path: "/dev/null").body
  end
end

# Without folders the fields mean nothing here: they are for a proxy in front.
class FilesNamedElsewhereTest < ServerProcessCase
  def self.app
    <<~'RACKUP'
      run ->(_env) do
        fields = { "x-sendfile" => "/srv/a", "x-accel-redirect" => "/b", "content-length" => "0" }
        [200, fields, []]
      end
    RACKUP
  end

  def test_the_fields_go_on_to_a_proxy_in_front
    response = ask("/")
    assert_equal [200, "/srv/a", "/b", ""],
                 [response.status, response["x-sendfile"], response["x-accel-redirect"],
                  response.body]
  end
end
