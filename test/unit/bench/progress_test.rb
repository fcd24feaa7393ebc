# frozen_string_literal: true

require_relative "bench_case"

class BenchProgressTest < BenchCase
  def test_each_step_is_a_line_that_is_out_at_once
    reader, writer = IO.pipe
    writer.sync = false
    Progress.new(writer).say("round 1")
    assert_equal "round 1\n", reader.read_nonblock(100)
  ensure
    [reader, writer].each(&:close)
  end

  def test_long_times_are_told_in_minutes
    assert_equal ["36 s", "90 s", "2 min", "15 min"],
                 [35.5, 89.9, 90, 862].map { |seconds| Progress.duration(seconds) }
  end
end
