# frozen_string_literal: true

require_relative "bench_case"

class BenchTableTest < BenchCase
  def test_numbers_have_a_comma_for_each_thousand
    assert_equal(["0", "999", "1,000", "77,777", "1,234,567", "-1,234"],
                 [0, 999, 1000, 77_777.4, 1_234_567, -1234].map { |value| Cell.number(value) })
    assert_equal ["8.8", "1,000.05"],
                 [Cell.number(8.84, digits: 1), Cell.number(1000.05, digits: 2)]
  end

  def test_a_cell_shows_the_median_and_the_spread_of_several_rounds
    assert_equal "2,000 (1,000..3,000)", Cell.spread(summary(1000, 3000, 2000))
    assert_equal "2,000", Cell.spread(summary(2000))
  end

  def test_ratios_shares_and_sizes_carry_their_unit
    assert_equal "0.95 x (0.90..1.00)", Cell.ratio(summary(0.9, 1.0))
    assert_equal "92.5 % (90.0..95.0)", Cell.percent(summary(0.9, 0.95))
    assert_equal "12.3", Cell.megabytes(summary(12_345_678))
  end

  def test_what_was_not_measured_is_a_dash
    assert_equal ["-"] * 5, [Cell.number(nil), Cell.spread(nil), Cell.ratio(nil),
                             Cell.percent(nil), Cell.megabytes(nil)]
  end

  def test_markdown_is_aligned_with_figures_to_the_right
    assert_equal <<~MARKDOWN, table.to_markdown
      Rates

      | server    |   a/s |
      | --------- | ----: |
      | one \\| two |     5 |
      | b         | 1,000 |
    MARKDOWN
  end

  def test_text_is_in_plain_columns
    assert_equal <<~TEXT, table.to_text
      Rates
      server       a/s
      ---------  -----
      one | two      5
      b          1,000
    TEXT
  end

  private

  def table
    Table.new("Rates", headers: ["server", "a/s"], rows: [["one | two", "5"], ["b", "1,000"]])
  end
end
