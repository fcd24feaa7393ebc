# frozen_string_literal: true

require_relative "../../support/fake_native"
require "json"
require "neverblock/log/core_lines"

class CoreLinesTest < Minitest::Test
  def test_each_line_becomes_an_entry_and_the_last_ones_come_through_before_it_is_closed
    log = FakeNative::Log.new
    log.format = :json
    lines = NeverBlock::Log::CoreLines.new(log)
    core = IO.for_fd(lines.fileno, "w", autoclose: false)
    core.write("neverblock: no descriptor left\nneverblock: 17 log lines dropped\n")
    core.flush
    lines.close
    entries = log.text.lines.map { |line| JSON.parse(line) }
    assert_equal ["no descriptor left", "17 log lines dropped"], (entries.map { |entry| entry["message"] })
    assert_equal [%w[warning io_loop]], entries.map { |entry| entry.values_at("level", "source") }.uniq
  end
end
