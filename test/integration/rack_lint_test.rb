# frozen_string_literal: true

# Rack::Lint between the server and an application finds nothing to complain about, with the Rack
# this suite runs with and with Rack 2.2.

require_relative "../support/gem_bundle"
require_relative "../support/http_client"
require_relative "../support/server_process_case"

# Requests that both versions must pass.
module LintRequests
  def assert_lint_is_content(response, status = 200)
    assert_equal status, response.status, "#{response.body}\n#{server.stderr}"
    refute_match(/LintError/, server.stderr)
  end

  def test_get
    assert_lint_is_content ask("/array?a=b", "Cookie: a=b", "X-Any: 1")
    assert_lint_is_content ask("/each")
  end

  def test_head
    assert_lint_is_content ask("/nothing", method: "HEAD")
  end

  def test_post
    response = ask("/echo", "Content-Type: text/plain", method: "POST", body: "abcde")
    assert_lint_is_content response
    assert_equal "abcde", response.body
  end

  def test_a_chunked_upload
    body = "5\r\nabcde\r\n0\r\n\r\n"
    response = ask("/echo", "Transfer-Encoding: chunked", method: "POST", body: body)
    assert_lint_is_content response
    assert_equal "abcde", response.body
  end

  def test_a_large_upload
    response = ask("/size", method: "POST", body: "x" * 300_000)
    assert_lint_is_content response
    assert_equal "300000", response.body
  end

  def test_answers_without_a_body
    assert_lint_is_content ask("/status/204"), 204
    assert_lint_is_content ask("/status/304"), 304
  end

  def test_several_values_of_one_field
    response = ask("/cookies")
    assert_lint_is_content response
    assert_equal %w[a=1 b=2], response.all("set-cookie")
  end

  def test_http_1_0
    only_over :plain, :tls, "HTTP/1.0"
    response = connect do |client|
      client.write("GET /array HTTP/1.0\r\n\r\n")
      client.response(version: "1.0")
    end
    assert_lint_is_content response
  end

  def test_options_of_a_path_and_unknown_methods
    assert_lint_is_content ask("/array", method: "OPTIONS")
    assert_lint_is_content ask("/array", method: "FROBNICATE")
  end

  def test_absolute_form_and_odd_hosts
    assert_lint_is_content ask("http://test/array")
    connect do |client|
      client.write("GET /array HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n")
      assert_lint_is_content client.response
    end
  end

  def test_full_hijack
    only_over :plain, :tls, "HTTP/2 has no hijack"
    response = ask("/full_hijack")
    assert_lint_is_content response
    assert_equal "taken", response.body
  end

  def test_partial_hijack
    only_over :plain, :tls, "HTTP/2 has no hijack"
    connect do |client|
      client.get("/partial_hijack")
      assert_match(/\AHTTP\/1\.1 200 OK\r\n.*\r\n\r\ntaken\z/m, client.take_to_end.first)
    end
    refute_match(/LintError/, server.stderr)
  end

  def test_the_version_is_the_one_meant
    assert_match rack_version, ask("/version").body
  end
end

class RackLintTest < ServerProcessCase
  include LintRequests

  APP = <<~'RACKUP'
    require "uri" # Rack 2.2's Lint uses it and does not load it
    require "rack"
    require "rack/lint"
    use Rack::Lint
    names = Rack.release >= "3" ? { type: "content-type" } : { type: "Content-Type" }
    each_body = Struct.new(:parts) { def each(&block) = parts.each(&block) }
    run(lambda do |env|
      headers = { names[:type] => "text/plain" }
      case env["PATH_INFO"]
      when "/array" then [200, headers, ["one", "two"]]
      when "/each" then [200, headers, each_body.new(["one", "two"])]
      when "/call"
        body = lambda do |stream|
          (stream << "one").write("two")
          stream.flush && stream.close
        end
        [200, headers, body]
      when "/full_hijack"
        io = env["rack.hijack"].call
        io.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntaken")
        io.close
        [200, headers, []]
      when "/partial_hijack"
        taken = ->(io) { io.write("taken") && io.flush && io.close }
        [200, headers.merge("rack.hijack" => taken), []]
      when "/cookies"
        lines = { "set-cookie" => %w[a=1 b=2] }
        lines = { "Set-Cookie" => "a=1\nb=2" } if Rack.release < "3"
        [200, headers.merge(lines), ["body"]]
      when "/nothing" then [200, headers, []]
      when "/echo" then env["rack.input"].read.then { |body| [200, headers, [body]] }
      when "/size" then [200, headers, [env["rack.input"].read.bytesize.to_s]]
      when "/multiprocess" then [200, headers, [env["rack.multiprocess"].inspect]]
      when "/version" then [200, headers, [Rack.release]]
      when %r{\A/status/(\d+)} then [$1.to_i, {}, []]
      end
    end)
  RACKUP

  def self.app
    APP
  end

  def test_streaming_body
    response = ask("/call")
    assert_lint_is_content response
    assert_equal "onetwo", response.body
  end

  def rack_version
    /\A3\./
  end
end

# The same with Rack 2.2, from a bundle of its own that lies under tmp/.
class RackLint22Test < ServerProcessCase
  include LintRequests

  BUNDLE = GemBundle.new(File.expand_path("rack_22.gemfile", __dir__), "bundle-rack22")

  def self.app
    RackLintTest::APP
  end

  def self.server_options
    { env: BUNDLE.env.merge("RUBYOPT" => "-rbundler/setup") }
  end

  def test_a_worker_is_one_of_several_processes_and_a_single_process_is_not
    found = %w[2 1].map do |count|
      options = { options: ["-w", count], **self.class.server_options }
      ServerProcess.run(self.class.app, **options) do |server|
        HTTPClient.get(URI("#{server.url}/multiprocess"))
      end
    end
    assert_equal %w[true false], found
  end

  def rack_version
    /\A2\.2\./
  end
end
