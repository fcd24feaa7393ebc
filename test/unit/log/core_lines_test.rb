# frozen_string_literal: true

require_relative "../../support/fake_native"
require "json"
require "neverblock/log"
require "neverblock/log/core_lines"
require "neverblock/log/json"

class CoreLinesTest < Minitest::Test
  def silently
    verbose = $VERBOSE
    $VERBOSE = nil
    yield
  ensure
    $VERBOSE = verbose
  end

  def entries(text, **options)
    log = FakeNative::Log.new
    lines = NeverBlock::Log::CoreLines.new(log, options[:shape])
    core = IO.for_fd(lines.fileno, "w", autoclose: false)
    core.write(text)
    core.flush
    lines.close
    log.text
  end

  def test_a_request_that_the_loop_answered_is_an_entry_like_the_others
    line = "neverblock: 2026-11-21T18:03:26.000Z info: " \
           "request 413 127.0.0.1 a body too large\tPOST /x?y=1 HTTP/1.1\n"
    told = 'POST /x\?y=1 413 127\.0\.0\.1 answered by the server: a body too large'
    assert_match(/\Aneverblock: \S+Z info: #{told}\n\z/, entries(line))
    entry = JSON.parse(entries(line, shape: NeverBlock::Log::Json.new))
    assert_equal ["request", "POST", "/x?y=1", 413, "127.0.0.1", "a body too large"],
                 entry.values_at("message", "method", "target", "status", "remote_addr", "refused")
  end

  # A line that was cut, or is none, tells no protocol. That of most requests is not told to people.
  PROTOCOLS = {
    "GET /x HTTP/2" => ["GET /x HTTP/2 200", "HTTP/2"],
    "GET /x HTTP/1.0" => ["GET /x HTTP/1.0 200", "HTTP/1.0"],
    "GET /x HTTP/1.1" => ["GET /x 200", "HTTP/1.1"],
    "GET /x" => ["GET /x 200", nil]
  }.freeze

  def test_the_protocol_is_told
    PROTOCOLS.each do |asked, (told, protocol)|
      line = "neverblock: 2026-11-21T18:03:26.000Z info: request 200 ::1 a file\t#{asked}\n"
      assert_includes entries(line), "info: #{told} ::1 answered"
      entry = JSON.parse(entries(line, shape: NeverBlock::Log::Json.new))
      protocol ? assert_equal(protocol, entry["protocol"]) : assert_nil(entry["protocol"])
    end
  end

  def test_tls_is_told_in_json
    line = "neverblock: 2026-11-21T18:03:26.000Z info: request 200 ::1 a file\tGET /x HTTP/1.1" \
           "\tTLSv1.2 ECDHE-RSA-AES128-GCM-SHA256 resumed\n"
    assert_match(/info: GET \/x 200 ::1 answered by the server: a file\n\z/, entries(line))
    entry = JSON.parse(entries(line, shape: NeverBlock::Log::Json.new))
    assert_equal ["GET", "/x", "HTTP/1.1", "TLSv1.2", "ECDHE-RSA-AES128-GCM-SHA256", true],
                 entry.values_at("method", "target", "protocol", "tls_version", "tls_cipher",
                                 "tls_resumed")
  end

  def test_a_file_that_the_loop_sent_is_no_refusal
    line = "neverblock: 2026-11-21T18:03:26.000Z info: " \
           "request 200 127.0.0.1 a file\tGET /x HTTP/1.1\n"
    assert_match(/info: GET \/x 200 127\.0\.0\.1 answered by the server: a file\n\z/, entries(line))
    entry = JSON.parse(entries(line, shape: NeverBlock::Log::Json.new))
    assert_equal [200, "a file", nil], entry.values_at("status", "served", "refused")
  end

  def test_a_request_line_that_is_none_is_shown_as_it_came
    line = "neverblock: 2026-11-21T18:03:26.000Z info: request 400 - no method\t\xFF nonsense\n".b
    assert_includes entries(line),
                    "info: %FF nonsense 400 127.0.0.1 answered by the server: no method\n"
  end

  # As the application's requests have it in REMOTE_ADDR.
  def test_a_client_of_a_unix_socket_is_on_this_machine
    line = "neverblock: 2026-11-21T18:03:26.000Z info: request 400 - bad\tPOST / HTTP/1.1\n"
    assert_match(/info: POST \/ 400 127\.0\.0\.1 answered by the server: bad$/, entries(line))
    entry = JSON.parse(entries(line, shape: NeverBlock::Log::Json.new))
    assert_equal "127.0.0.1", entry["remote_addr"]
  end

  def test_bytes_of_a_target_come_through_whatever_this_process_takes_for_its_encoding
    line = "neverblock: 2026-11-21T18:03:26.000Z info: " \
           "request 200 ::1 a file\tGET /é/\xE9?\\ HTTP/1.1\n".b
    asked = Encoding.default_external
    [Encoding::US_ASCII, Encoding::UTF_8].each do |encoding|
      silently { Encoding.default_external = encoding }
      text = entries(line).dup.force_encoding(Encoding::UTF_8)
      assert_includes text, "info: GET /é/%E9?\\ 200 ::1 answered"
      entry = JSON.parse(entries(line, shape: NeverBlock::Log::Json.new))
      assert_equal "/é/%E9?\\", entry["target"]
    end
  ensure
    silently { Encoding.default_external = asked }
  end

  def test_nobody_can_forge_an_entry_of_a_request_with_a_warning
    line = "neverblock: 2026-11-21T18:03:26.000Z warning: request 200 1.2.3.4 x\ty\n"
    assert_match(/warning: request 200 1\.2\.3\.4 x\ty/, entries(line))
  end

  def test_each_line_becomes_an_entry_and_the_last_ones_come_through_before_it_is_closed
    log = FakeNative::Log.new
    log.format = :json
    lines = NeverBlock::Log::CoreLines.new(log)
    core = IO.for_fd(lines.fileno, "w", autoclose: false)
    core.write(
      "neverblock: 2026-11-21T18:03:26.000Z warning: no descriptor left\n" \
      "neverblock: 17 log lines dropped\n"
    )
    core.flush
    lines.close
    entries = log.text.lines.map { |line| JSON.parse(line) }
    assert_equal ["no descriptor left", "17 log lines dropped"],
                 (entries.map { |entry| entry["message"] })
    assert_equal [%w[warning io_loop]],
                 entries.map { |entry| entry.values_at("level", "source") }.uniq
  end
end
