# frozen_string_literal: true

require_relative "bench_case"

class BenchResultsTest < BenchCase
  def setup
    @results = Results.new(
      [run_of("a", round: 1, rate: 100, error_count: 0),
       run_of("b", round: 1, rate: 200, error_count: 1),
       run_of("a", round: 2, rate: 50, error_count: 0),
       run_of("b", round: 2, rate: 50, error_count: 2),
       run_of("a", round: 3, rate: 90, error_count: 0),
       run_of("b", round: 3, failed: "ended", flags: ["failed: ended"]),
       run_of("a", round: 1, scenario: "deep", rate: 300),
       run_of("a", round: 2, scenario: "deep", rate: 100)],
      servers: %w[a b]
    )
  end

  def test_a_figure_is_taken_over_the_rounds_of_one_server_and_load
    assert_equal [90, 50, 100, 3], @results.figure("a", "load", "rate").to_a
    assert_equal [125, 50, 200, 2], @results.figure("b", "load", "rate").to_a,
                 "the failed round gives none"
  end

  def test_what_was_not_measured_has_no_figure
    assert_nil @results.figure("a", "load", "p50_us")
    assert_nil @results.figure("c", "load", "rate")
    assert_nil @results.errors("c", "load")
    assert_nil @results.ratio("a", "c", "load", "rate")
  end

  def test_a_ratio_pairs_the_rounds
    assert_equal [0.75, 0.5, 1.0, 2], @results.ratio("a", "b", "load", "rate").to_a
  end

  def test_a_difference_pairs_the_rounds
    assert_equal [-50, -100, 0, 2], @results.difference("a", "b", "load", "rate").to_a
  end

  def test_a_server_can_be_compared_with_itself_under_another_load
    assert_equal [2.5, 2.0, 3.0, 2],
                 @results.ratio("a", "a", "deep", "rate", other_scenario: "load").to_a
  end

  def test_a_ratio_over_nothing_is_left_out
    results = Results.new([run_of("a", rate: 1), run_of("b", rate: 0)], servers: %w[a b])
    assert_nil results.ratio("a", "b", "load", "rate")
  end

  def test_errors_are_added_up
    assert_equal [0, 3], [@results.errors("a", "load"), @results.errors("b", "load")]
  end

  def test_failed_and_flagged_runs_are_found
    assert_equal(["ended"], @results.failures.map { |run| run["failed"] })
    assert_equal 1, @results.flagged.size
  end
end
