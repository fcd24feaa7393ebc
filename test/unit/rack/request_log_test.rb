# frozen_string_literal: true

require_relative "../../support/fake_native"
require "json"
require "neverblock/log/json"
require "neverblock/rack/request_log"

class RequestLogTest < Minitest::Test
  def setup
    @log = FakeNative::Log.new
    @env = {
      "REQUEST_METHOD" => "POST", "REQUEST_URI" => "/a?b=c", "REMOTE_ADDR" => "192.0.2.7",
      "neverblock.request_id" => "id-1", "rack.response_finished" => []
    }
  end

  def test_an_entry_comes_when_the_response_is_done_and_not_before
    answer = [200, {}, ["x"]]
    assert_same answer, NeverBlock::RequestLog.new(->(_env) { answer }, @log).call(@env)
    assert_empty @log.text
    finish(200)
    assert_match(
      %r{\Aneverblock: \S+Z info: POST /a\?b=c 200 \d+\.\d+ ms 192\.0\.2\.7 id-1\n\z}, @log.text
    )
  end

  def test_the_trace_id_is_told
    @env["neverblock.trace_id"] = id = "4bf92f3577b34da6a3ce929d0e0e4736"
    [nil, NeverBlock::Log::Json.new].each do |shape|
      NeverBlock::RequestLog.new(->(_env) { [200, {}, []] }, @log, shape).call(@env)
    end
    finish(200)
    text, json = @log.text.lines
    assert text.end_with?(" 192.0.2.7 id-1 trace #{id}\n"), text
    assert_equal id, JSON.parse(json)["trace_id"]
  end

  def test_without_a_trace_there_is_no_word_of_one
    NeverBlock::RequestLog.new(->(_env) { [200, {}, []] }, @log, NeverBlock::Log::Json.new)
                          .call(@env)
    finish(200)
    refute JSON.parse(@log.text).key?("trace_id")
  end

  def test_where_the_time_went_is_told_in_json
    @env["neverblock.time"] =
      { queue_ms: 0.5, wait_ms: { database: 12.25 }, waits: { database: 2 } }
    [nil, NeverBlock::Log::Json.new].each do |shape|
      NeverBlock::RequestLog.new(->(_env) { [200, {}, []] }, @log, shape).call(@env)
    end
    finish(200)
    text, json = @log.text.lines
    assert text.end_with?(" 192.0.2.7 id-1\n"), text
    entry = JSON.parse(json)
    assert_equal [0.5, { "database" => 12.25 }], entry.values_at("queue_ms", "wait_ms")
    assert_equal({ "database" => 2 }, entry["waits"])
  end

  def test_the_protocol_is_told
    @env["SERVER_PROTOCOL"] = "HTTP/2"
    [nil, NeverBlock::Log::Json.new].each do |shape|
      NeverBlock::RequestLog.new(->(_env) { [200, {}, []] }, @log, shape).call(@env)
    end
    finish(200)
    text, json = @log.text.lines
    assert_match(/ info: POST \/a\?b=c HTTP\/2 200 /, text)
    assert_equal "HTTP/2", JSON.parse(json)["protocol"]
  end

  def test_tls_is_told_in_json
    shape = NeverBlock::Log::Json.new
    NeverBlock::RequestLog.new(->(_env) { [200, {}, []] }, @log, shape).call(@env)
    finish(200)
    refute_match(/tls/, @log.text)
    @env["neverblock.tls"] = "TLSv1.3 TLS_AES_128_GCM_SHA256 full"
    NeverBlock::RequestLog.new(->(env) { env.clear && [200, {}, []] }, @log, shape).call(@env.dup)
    finish(200)
    entry = JSON.parse(@log.text.lines.last)
    assert_equal ["TLSv1.3", "TLS_AES_128_GCM_SHA256", false],
                 entry.values_at("tls_version", "tls_cipher", "tls_resumed")
  end

  def test_it_tells_what_was_asked_though_a_middleware_changes_what_it_sees
    NeverBlock::RequestLog.new(->(env) { env["REQUEST_METHOD"] = "PUT" }, @log).call(@env)
    finish(200)
    assert_includes @log.text, " POST "
  end

  def test_an_application_that_failed_is_500_with_its_error
    app = ->(_env) { raise ArgumentError, "x" }
    assert_raises(ArgumentError) { NeverBlock::RequestLog.new(app, @log).call(@env) }
    finish(nil, ArgumentError.new("x"))
    assert_match(/ 500 .* id-1 ArgumentError\n\z/, @log.text)
  end

  def test_it_may_be_json_although_the_log_is_text
    app = ->(_env) { [204, {}, []] }
    NeverBlock::RequestLog.new(app, @log, NeverBlock::Log::Json.new).call(@env)
    finish(204)
    entry = JSON.parse(@log.text)
    assert_equal ["POST", "/a?b=c", 204, "192.0.2.7", "id-1"],
                 entry.values_at("method", "target", "status", "remote_addr", "request_id")
    assert_kind_of Float, entry["duration_ms"]
  end

  def test_a_target_cannot_forge_an_entry
    @env["REQUEST_URI"] = "/\nneverblock: forged"
    NeverBlock::RequestLog.new(->(_env) { [200, {}, []] }, @log).call(@env)
    finish(200)
    assert_equal 1, @log.text.scan(/^neverblock: /).size
  end

  # What is sent => what is logged: the same URL, in UTF-8, without characters that nobody sees.
  TARGETS = {
    "/caf\xC3\xA9?q=\xE2\x82\xAC" => "/café?q=€",
    "/caf\xE9" => "/caf%E9",
    "/a\\x0ab?\\" => "/a\\x0ab?\\",
    "/\xC2\x9B31m" => "/%C2%9B31m",
    "/\xE2\x80\xAEfdp" => "/%E2%80%AEfdp",
    "/\xE2\x80\xA8x" => "/%E2%80%A8x",
    "/\xC3(\xFF" => "/%C3(%FF",
    "/\xF0\x9F\x98\x80" => "/\u{1f600}"
  }.freeze

  TARGETS.each do |sent, logged|
    define_method("test_the_bytes #{sent.inspect} are logged as #{logged}") do
      error = Class.new(StandardError) { def self.to_s = "Fehlerä" }
      [nil, NeverBlock::Log::Json.new].each do |shape|
        log = FakeNative::Log.new
        env = @env.merge("REQUEST_URI" => sent.b, "rack.response_finished" => [])
        NeverBlock::RequestLog.new(->(_env) { [200, {}, []] }, log, shape).call(env)
        env["rack.response_finished"].each { |callback| callback.call(env, nil, {}, error.new) }
        text = log.text.b.force_encoding(Encoding::UTF_8)
        assert_predicate text, :valid_encoding?
        if shape
          assert_equal([logged, "Fehlerä"], JSON.parse(text).values_at("target", "error"))
        else
          assert_includes(text, " POST #{logged} 500 ")
        end
      end
    end
  end

  private

  def finish(status, error = nil)
    @env["rack.response_finished"].each { |callback| callback.call(@env, status, {}, error) }
  end
end
