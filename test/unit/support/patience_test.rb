# frozen_string_literal: true

require "test_helper"
require_relative "../../support/patience"

class PatienceTest < Minitest::Test
  def limit(seconds)
    @now = 1_000.0
    Patience::Limit.new(seconds, clock: -> { @now })
  end

  def asked_after(limit, *steps)
    steps.map do |step|
      @now += step
      limit.over?
    end
  end

  def test_the_time_of_short_steps_is_counted
    assert_equal [false, false, false, true], asked_after(limit(2), 0.75, 0.75, 0.5, 0.125)
  end

  def test_a_standstill_counts_as_one_second
    assert_equal [false, false, false, true], asked_after(limit(2), 40, 500, 0, 0.5)
  end

  def test_without_any_time_it_is_over_with_the_next_question_but_not_at_once
    assert_equal [false, true], asked_after(limit(0), 0, 0.001)
  end

  def test_what_comes_true_is_given_back
    calls = 0
    assert_equal(3, Patience.await("the third") { (calls += 1) > 2 && calls })
  end
end
