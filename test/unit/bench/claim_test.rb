# frozen_string_literal: true

require_relative "bench_case"

class BenchClaimTest < BenchCase
  def test_a_verdict_is_met_or_missed_by_its_median
    assert_equal :met, judge(summary(0.8, 1.0, 1.9)).status
    assert_equal :missed, judge(summary(0.8, 1.3, 1.1, 1.4, 1.4)).status
  end

  def test_a_verdict_shows_what_was_measured_with_its_spread
    assert_equal ["CPU", "1.00 x (0.80..1.90)", "at most 1.2 x"],
                 judge(summary(0.8, 1.0, 1.9)).to_h.values_at(:text, :measured, :limit)
  end

  def test_what_was_not_measured_is_unknown_and_not_met
    assert_equal [:unknown, "not measured"], judge(nil).to_h.values_at(:status, :measured)
  end

  def test_a_claim_is_called_as_its_class_and_its_application_lies_in_benchmark_apps
    claim = Catalog.new.find("hello")
    assert_equal "hello", claim.name
    assert_equal File.join(ROOT, "benchmark/apps/hello.ru"), claim.app
  end

  private

  def judge(summary)
    Verdict.judge("CPU", summary, limit: "at most 1.2 x") { |ratio| ratio <= 1.2 }
  end
end
