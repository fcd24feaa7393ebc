# frozen_string_literal: true

require_relative "bench_case"

class BenchStatisticsTest < BenchCase
  def test_the_median_of_an_odd_number_of_rounds_is_the_middle_one_and_the_spread_its_ends
    assert_equal [3, 1, 9, 5], Summary.of([9, 1, 3, 2, 4]).to_a
  end

  def test_the_median_of_an_even_number_of_rounds_lies_between_the_two_in_the_middle
    assert_equal 2.5, Summary.of([4, 1, 3, 2]).median
  end

  def test_rounds_without_a_figure_do_not_count
    assert_equal [5, 5, 5, 1], Summary.of([nil, 5, nil]).to_a
  end

  def test_no_figure_at_all_is_no_summary
    assert_nil Summary.of([nil, nil])
    assert_nil Summary.of([])
  end
end
