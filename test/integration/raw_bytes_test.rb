# frozen_string_literal: true

# Bytes that clients send and the grammar of a URL has not: what reaches the application, which
# files they name, and what the log makes of them (docs/decisions/0002). Single process and with
# workers.

require "json"
require "tmpdir"
require_relative "../support/workers_case"

class RawBytesTest < WorkersCase
  only_over :plain, :tls, "heads of HTTP/1.1; those of HTTP/2 are judged by test/c/http2"

  # Tells the values and their encodings, as Puma 8 gives them too (tried beside it).
  APP = <<~'RACKUP'
    require "json"
    run lambda { |env|
      raise "Fehler: ä \xFF" if env["PATH_INFO"].start_with?("/raise")

      keys = %w[PATH_INFO QUERY_STRING REQUEST_URI HTTP_HOST SERVER_NAME SERVER_PORT]
      told = keys.to_h { |key| [key, [env[key]&.unpack1("H*"), env[key]&.encoding.to_s]] }
      [200, { "content-type" => "application/json" }, [JSON.generate(told)]]
    }
  RACKUP

  WORKERS = [1, 2].freeze

  WORKERS.each do |workers|
    define_method("test_the_application_is_given_the_bytes_that_were_sent_in_binary_w#{workers}") do
      serving(workers: workers) do |server|
        told = told(server, "/caf\xC3\xA9/\xE9\\..\\?q=\xE2\x82\xAC\xFF\\#frag\xC3")
        binary = Encoding::BINARY.to_s
        assert_equal [hex("/caf\xC3\xA9/\xE9\\..\\"), binary], told["PATH_INFO"]
        assert_equal [hex("q=\xE2\x82\xAC\xFF\\"), binary], told["QUERY_STRING"]
        assert_equal [hex("/caf\xC3\xA9/\xE9\\..\\?q=\xE2\x82\xAC\xFF\\"), binary],
                     told["REQUEST_URI"]
        assert_equal [hex("test:"), binary], told(server, "/", host: "test:")["HTTP_HOST"]
        assert_equal [hex(""), binary], told(server, "/", host: "")["HTTP_HOST"]
      end
    end

    define_method("test_every_entry_of_the_log_is_utf8_whatever_was_asked_for_w#{workers}") do
      %w[text json].each do |format|
        requests = format == "json" ? ":json" : "true"
        settings = "log_requests #{requests}\nlog_format :#{format}\n"
        serving(settings, workers: workers, served: true) do |server|
          [
            "/caf\xC3\xA9.txt", "/raise\xE9\\x0a", "/\xC2\x9B31m\xE2\x80\xAE", "/a\xE9\x01",
            "/ok\xFF"
          ].each { |target| status(server, target) }
          server.await_stderr(/ok(%FF)/)
          server.stop
          log = server.stderr.b.force_encoding(Encoding::UTF_8)
          assert_predicate log, :valid_encoding?
          refute_match(/[\u0080-\u009f\u202e]/, log)
          [
            "/café.txt", "/raise%E9#{format == "json" ? "\\\\x0a" : "\\x0a"}",
            "/%C2%9B31m%E2%80%AE", "/a%E9%01", "/ok%FF"
          ].each { |target| assert_includes log, target }
          log.lines.grep(/\A\{/).each { |line| JSON.parse(line) } if format == "json"
        end
      end
    end
  end

  def test_a_file_is_served_by_the_name_in_utf8_however_it_is_written
    serving(served: true) do |server|
      [
        "/caf\xC3\xA9.txt", "/caf%C3%A9.txt", "/caf%c3\xA9.txt", "/caf\xC3\xA9.txt#part"
      ].each { |target| assert_equal [200, "coffee"], answer(server, target), target }
      response = response(server, "/\xC3\xBCber?q=\xC3\xA9")
      assert_equal [301, "/%C3%BCber/?q=%C3%A9"], [response.status, response["location"]]
      assert_equal [200, "over"], answer(server, "/\xC3\xBCber/")
      told = JSON.parse(answer(server, "/caf\xE9.txt").last)
      assert_equal hex("/caf\xE9.txt"), told["PATH_INFO"].first, "no UTF-8: the application's"
      told = JSON.parse(answer(server, "/..\\secret").last)
      assert_equal hex("/..\\secret"), told["PATH_INFO"].first
    end
  end

  def test_a_route_holds_for_a_path_that_was_sent_without_encoding
    serving("route \"/caf%C3%A9/*\", lane: :thread, at_once: 1\n") do |server|
      paths = Array.new(2) { told(server, "/caf\xC3\xA9/1")["PATH_INFO"].first }
      assert_equal [hex("/caf\xC3\xA9/1")] * 2, paths
    end
  end

  # http_compliance, target, Host => status.
  ANSWERS = [
    [:strict, "/\xC3\xA9", "test", 400],
    [:strict, "/a\\b", "test", 400],
    [:strict, "/#f", "test", 400],
    [:strict, "/", "", 400],
    [:strict, "/", "test:", 400],
    [:strict, "/a?b[]={}", "test", 200],
    [:common, "/\"<a>\"", "test", 400],
    [:common, "/", "t\xC3\xA9st", 400],
    [:common, "/", "a,b", 400],
    [:common, "/", "a@b", 400],
    [:common, "/\x01", "test", 400],
    [:lenient, "/\"<a>\"", "test", 200],
    [:lenient, "/", "t\xC3\xA9st", 200],
    [:lenient, "/", "a,b", 200],
    [:lenient, "/", "[fe80::1%25eth0]:00080", 200],
    [:lenient, "/", "test:000080", 200],
    [:lenient, "/\x01", "test", 400],
    [:lenient, "/a b", "test", 400],
    [:lenient, "/", "a@b", 400],
    [:lenient, "/", "test:99999", 400]
  ].freeze

  ANSWERS.group_by(&:first).each do |compliance, rows|
    define_method("test_http_compliance_#{compliance}") do
      serving("http_compliance :#{compliance}\n") do |server|
        rows.each do |_, target, host, expected|
          status = response(server, target, host: host).status
          assert_equal expected, status, [target, host].inspect
        end
      end
    end
  end

  def test_framing_is_strict_whatever_the_compliance
    serving("http_compliance :lenient\n") do |server|
      [
        "Content-Length: 1\r\nTransfer-Encoding: chunked",
        "Content-Length: 1\r\nContent-Length: 1",
        "Content-Length: +1",
        "Transfer-Encoding: x, chunked",
        "X: a\r\n b",
        "X : a",
        "X: a\nY: b",
        "X\xE9: a",
        "X: a\0"
      ].each do |fields|
        sent = "POST / HTTP/1.1\r\nHost: test\r\n#{fields}\r\n\r\n".b
        refused = Wire::Client.open(server.url) do |client|
          client.write(sent) && client.response(method: "POST")
        end
        assert_includes [400, 501], refused.status, fields
      end
    end
  end

  private

  def serving(config = "", workers: 1, served: false, &block)
    Dir.mktmpdir do |directory|
      if served
        FileUtils.mkdir_p(File.join(directory, "public/\u00fcber"))
        File.write(File.join(directory, "public/caf\u00e9.txt"), "coffee")
        File.write(File.join(directory, "public/\u00fcber/index.html"), "over")
        config += "public_dir #{File.join(directory, "public").inspect}\n"
      end
      File.write(File.join(directory, "nb.rb"), config)
      serve(APP, workers: workers, options: ["-C", File.join(directory, "nb.rb")], &block)
    end
  end

  def hex(bytes)
    bytes.b.unpack1("H*")
  end

  def response(server, target, host: "test")
    Wire::Client.open(server.url) do |client|
      client.write("GET #{target} HTTP/1.1\r\nHost: #{host}\r\nConnection: close\r\n\r\n".b)
      client.response
    end
  end

  def status(server, target)
    response(server, target).status
  end

  def answer(server, target)
    response(server, target).then { |response| [response.status, response.body] }
  end

  def told(server, target, **options)
    JSON.parse(response(server, target, **options).body)
  end
end
