# frozen_string_literal: true

require_relative "watch_case"
require "neverblock/watch/sparkline"

class WatchSparklineTest < WatchCase
  def test_the_highest_is_full_the_newest_to_the_right_and_a_gap_is_a_gap
    assert_equal "  ▁▂█ ▅", Sparkline.draw([0, 1, 70, nil, 40], 7)
  end

  def test_only_as_many_as_fit_are_drawn_and_scaled_to_each_other
    assert_equal "▅█", Sparkline.draw([1_000, 5, 10], 2)
    assert_equal "", Sparkline.draw([1], 0)
    assert_equal "", Sparkline.draw([1], -3)
    assert_equal "▁▁", Sparkline.draw([0, 0], 2)
  end
end
