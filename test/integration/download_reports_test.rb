# frozen_string_literal: true

# What is told of downloads that an application names by X-Download-Id: by POST and to on_download,
# in one process and with workers.

require "json"
require "socket"

require_relative "../support/http_client"
require_relative "../support/served_folder"
require_relative "../support/server_process_case"

module DownloadReports
  LARGE_BYTES = 30_000_000

  # Where reports are posted.
  class Sink
    def initialize
      @server = TCPServer.new("127.0.0.1", 0)
      @told = {}
      @lock = Mutex.new
      @thread = Thread.new { loop { Thread.new(@server.accept) { |socket| serve(socket) } } }
    end

    def url
      "http://127.0.0.1:#{@server.local_address.ip_port}/downloads"
    end

    # @return [Hash] the report
    def await(id)
      Patience.await("a report of #{id}") { @lock.synchronize { @told[id] } }
      @told[id]
    end

    def told?(id)
      @lock.synchronize { @told.key?(id) }
    end

    def close
      @thread.kill.join
      @server.close
    end

    private

    def serve(socket)
      while (head = socket.gets("\r\n\r\n"))
        body = socket.read(head[/content-length: (\d+)/i, 1].to_i)
        report = JSON.parse(body)
        @lock.synchronize { @told[report["id"]] = report }
        socket.write("HTTP/1.1 204 No Content\r\n\r\n")
      end
    ensure
      socket.close
    end
  end

  def self.included(base)
    base.extend(ClassMethods)
  end

  module ClassMethods
    def folder
      @folder ||= ServedFolder.new("text.txt" => "0123456789", "empty.txt" => "").tap do |made|
        File.truncate(made.write("large.bin", ""), LARGE_BYTES)
      end
    end

    def sink
      @sink ||= Sink.new
    end

    # Where on_download writes.
    def called
      folder.beside("called")
    end

    def app
      <<~RACKUP
        run lambda { |env|
          headers = {
            "content-type" => "text/plain", "x-kept" => "yes",
            "X-Download-Id" => env["QUERY_STRING"]
          }
          case env["PATH_INFO"]
          when "/plain" then [200, headers, ["no file"]]
          when "/to_path"
            body = Object.new
            body.define_singleton_method(:to_path) { "#{folder.path}/text.txt" }
            body.define_singleton_method(:each) { |&block| block.call("0123456789") }
            [200, headers, body]
          else [200, headers.merge("x-sendfile" => env["PATH_INFO"]), []]
          end
        }
      RACKUP
    end

    def server_options
      path = folder.beside("neverblock.rb")
      File.write(path, <<~CONFIGURATION)
        sendfile { roots "#{folder.path}"; report "#{sink.url}" }
        timeouts { body 1; rate_min 1_000_000 }
        on_download do |r|
          sleep 0.001
          raise "not this one" if r.id == "raises"
          speed = r.bytes_per_second.class
          words = [Process.pid, r.id, r.path, r.bytes, r.seconds.class, speed, r.result]
          File.write("#{called}", words.join(" ") + "\\n", mode: "a")
        end
      CONFIGURATION
      { options: ["-C", path, "--admin", "http://127.0.0.1:0", *workers] }
    end

    def run(reporter, options = {})
      super
    ensure
      @folder&.remove
      @sink&.close
    end
  end

  def path(name = "text.txt")
    File.join(self.class.folder.path, name)
  end

  def get(path, id, **headers)
    fields = headers.transform_keys { |key| key.to_s.tr("_", "-") }
    HTTPClient.get_response(URI("#{self.class.server.url}#{path}?#{id}"), fields)
  end

  def report(id)
    self.class.sink.await(id)
  end

  def called(id)
    found = nil
    Patience.await("on_download of #{id}") do
      next unless File.exist?(self.class.called)

      lines = File.readlines(self.class.called, chomp: true).map(&:split)
      found = lines.find { |words| words[1] == id }
    end
    found
  end

  def test_a_whole_download_is_told_with_its_size_speed_and_path
    response = get(path, "whole")
    assert_equal ["0123456789", nil, "yes"],
                 [response.body, response["x-download-id"], response["x-kept"]]
    told = report("whole")
    assert_equal [path, 10, "complete"], told.values_at("path", "bytes", "result")
    assert_operator told["seconds"], :>, 0
    assert_in_delta 10 / told["seconds"], told["bytes_per_second"], 1
  end

  def test_a_range_is_told_with_its_own_size_and_what_had_not_changed_with_none
    etag = get(path, "first")["etag"]
    assert_equal "345", get(path, "range", range: "bytes=3-5").body
    assert_equal [3, "complete"], report("range").values_at("bytes", "result")
    assert_equal "304", get(path, "unchanged", if_none_match: etag).code
    assert_equal [0, "not_modified"], report("unchanged").values_at("bytes", "result")
    assert_equal "416", get(path, "beyond", range: "bytes=99-").code
    assert_equal "refused", report("beyond")["result"]
  end

  def test_files_that_are_missing_or_may_not_be_named
    assert_equal "404", get(path("nothing"), "missing").code
    assert_equal [path("nothing"), 0, "missing"],
                 report("missing").values_at("path", "bytes", "result")
    assert_equal "404", get("/etc/passwd", "refused").code
    assert_equal ["/etc/passwd", "refused"], report("refused").values_at("path", "result")
  end

  def test_an_empty_file_is_complete
    get(path("empty.txt"), "empty")
    assert_equal [0, "complete"], report("empty").values_at("bytes", "result")
  end

  def test_a_body_with_to_path_is_told_with_it
    assert_equal "0123456789", get("/to_path", "to_path").body
    assert_equal [path, 10, "complete"], report("to_path").values_at("path", "bytes", "result")
  end

  def test_what_is_no_file_no_get_or_no_id_is_not_told
    assert_nil get("/plain", "plain")["x-download-id"]
    uri = URI(self.class.server.url)
    HTTPClient.open(uri) { |http| http.head("#{path}?head") }
    assert_nil get(path, "x" * 129)["x-download-id"]
    self.class.server.await_stderr(/an X-Download-Id is 1 to 128 visible characters of ASCII/)
    get(path, "last")
    report("last")
    called("last")
    ["plain", "head", "x" * 129].each { |id| refute self.class.sink.told?(id), id }
  end

  def begin_large(id, **options)
    connect(receive_buffer_bytes: 4_096, **options) do |client|
      client.get("#{path("large.bin")}?#{id}")
      client.take_line
      yield
    end
  end

  def test_a_client_that_leaves_has_aborted
    begin_large("leaves") { nil }
    told = report("leaves")
    assert_equal "aborted", told["result"]
    assert_operator told["bytes"], :<, LARGE_BYTES
  end

  def test_the_bytes_of_a_client_that_leaves_are_counted
    received = 10_000_000
    connect do |client|
      client.get("#{path("large.bin")}?counted_bytes")
      client.take(received)
      client.abort
    end
    told = report("counted_bytes")
    assert_equal "aborted", told["result"] if told["bytes"] < LARGE_BYTES
    assert_operator told["bytes"], :>=, received - 1_000, "the head of the response aside"
  end

  def test_a_client_that_stops_reading_is_timed_out
    begin_large("sleeps") { assert_equal "timed_out", report("sleeps")["result"] }
  end

  def test_a_client_of_http_2_that_stops_reading_is_timed_out
    begin_large("sleeps2", http2: true) { assert_equal "timed_out", report("sleeps2")["result"] }
  end

  def test_on_download_is_called_where_the_application_is
    get(path, "called")
    words = called("called")
    assert_equal ["called", path, "10", "Float", "Float", "complete"], words.drop(1)
    assert_equal self.class.front?, words.first.to_i != self.class.server.pid
  end

  def test_on_download_that_raises_is_an_entry_of_the_log_and_no_more
    get(path, "raises")
    self.class.server.await_stderr(
      /on_download failed for raises: RuntimeError: not this one\n\s+.*neverblock\.rb:5/
    )
    get(path, "after")
    called("after")
  end

  def test_figures
    get(path, "counted")
    report("counted")
    called("counted")
    fates = nil
    Patience.await("figures") do
      text = HTTPClient.get(URI("#{self.class.server.admin_url}/metrics"))
      ended = text[/^neverblock_download_reports_ended_total (\d+)/, 1].to_i
      fates = text.scan(/^neverblock_download_reports_total\{fate="(\w+)"\} (\d+)/).to_h
        .transform_values(&:to_i)
      ended.positive? && fates["posted"] == ended && fates["called"] + fates["failed"] == ended
    end
    assert_equal 0, fates["lost"]
  end
end

class DownloadReportsTest < ServerProcessCase
  include DownloadReports

  def self.front? = ServerProcess.workers?([])
  def self.workers = front? ? %w[-w 2] : []
end

class DownloadReportsWithWorkersTest < ServerProcessCase
  include DownloadReports

  def self.front? = true
  def self.workers = %w[-w 2]
end

# File workers send all of it.
class DownloadReportsBlockingTest < ServerProcessCase
  include DownloadReports

  def self.front? = ServerProcess.workers?([])
  def self.workers = %w[--algorithm sba]

  def test_the_bytes_of_a_download_that_the_server_stops_are_counted
    received = 10_000_000
    ServerProcess.run(self.class.app, **self.class.server_options) do |server|
      server.connect do |client|
        client.get("#{path("large.bin")}?stopped")
        client.take(received)
        Process.kill("TERM", server.pid)
        server.await_stderr(/a second signal aborts/)
        server.stop(expect: nil, signal: "INT")
      end
    end
    told = report("stopped")
    assert_equal "aborted", told["result"]
    assert_operator told["bytes"], :>=, received - 1_000, "the head of the response aside"
  end
end
