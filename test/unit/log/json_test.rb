# frozen_string_literal: true

require_relative "../../support/fake_native"
require "json"
require "neverblock/rack/error_stream"
require "neverblock/log/json"
require "neverblock/rack/request_log"

class LogJsonTest < Minitest::Test
  def setup
    @log = FakeNative::Log.new
    @log.format = :json
  end

  def test_an_entry_is_an_object_on_one_line_with_time_level_and_message
    @log.info("ready\nto go", answer: 42)
    @log.warn("slow")
    entries = read
    assert_equal %w[info warning], (entries.map { |e| e["level"] })
    assert_equal ["ready\nto go", "slow"], (entries.map { |e| e["message"] })
    assert_equal [Process.pid] * 2, (entries.map { |e| e["pid"] })
    assert_match(/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\z/, entries[0]["time"])
    assert_equal 42, entries[0]["answer"]
  end

  def test_an_exception_is_a_field_with_its_trace_and_its_causes
    begin
      begin
        raise IOError, "socket"
      rescue IOError
        raise ArgumentError, "wrapped\nin two lines"
      end
    rescue ArgumentError => e
      @log.error("GET / failed", e, request_id: "abc")
    end
    entry = read.fetch(0)
    assert_equal %w[error abc], entry.values_at("level", "request_id")
    assert_equal ["ArgumentError", "wrapped\nin two lines"],
                 entry["exception"].values_at("class", "message")
    assert_match(/json_test\.rb:\d+/, entry["exception"]["backtrace"].first)
    assert_equal "IOError", entry["exception"]["cause"]["class"]
  end

  def test_bytes_that_are_no_text_and_other_encodings_still_make_json
    @log.info("caf\xE9 \xFF".b)
    @log.info("é".encode("UTF-16LE"))
    @log.error("x", RuntimeError.new("\xFF\e[2J".dup.force_encoding("UTF-8")))
    assert_equal ["caf\u{FFFD} \u{FFFD}", "é", "x"], read.map { |entry| entry["message"] }
  end

  def test_what_the_application_writes_to_rack_errors_is_entries_too
    errors = NeverBlock::ErrorStream.new(@log.passages)
    errors.puts("one\n", "two")
    errors.write("three")
    errors.puts
    assert_equal ["one\ntwo", "three"], read.map { |entry| entry["message"] }
  end

  def test_text_leaves_rack_errors_as_it_is
    @log.format = :text
    NeverBlock::ErrorStream.new(@log.passages).puts("one")
    assert_equal "one\n", @log.text
  end

  private

  def read
    @log.text.lines.map { |line| JSON.parse(line) }
  end
end
