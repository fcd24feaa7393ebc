# frozen_string_literal: true

require_relative "watch_case"
require "neverblock/watch/columns"

class WatchColumnsTest < WatchCase
  def test_the_first_column_is_to_the_left_the_others_to_the_right
    assert_equal ["name  count", "x         7"], Columns.align([%w[name count], %w[x 7]], least: 1)
  end

  def test_columns_have_a_least_width_and_rows_may_be_short
    assert_equal ["a        b", "c"], Columns.align([%w[a b], %w[c]], least: 4).map(&:rstrip)
    assert_empty Columns.align([])
  end
end
