# frozen_string_literal: true

require_relative "../bench_case"

class BenchDelaysTest < BenchCase
  MET = { 0 => 60_000, 10 => 50_000, 50 => 18_000, 100 => 9_200, 500 => 1_860 }.freeze

  def setup
    @claim = Catalog.new.find("delays")
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [:met] * 6, verdicts(MET).map(&:status)
  end

  def test_a_share_under_its_limit_is_missed
    { 10 => 49_000, 50 => 17_900, 100 => 9_190, 500 => 1_850 }.each do |delay, rate|
      statuses = verdicts(MET.merge(delay => rate)).map(&:status)
      assert_equal 1, statuses.count(:missed), delay
      assert_equal :missed, statuses[[10, 50, 100, 500].index(delay)]
    end
  end

  def test_where_the_processor_is_the_limit_the_own_rate_without_a_delay_counts
    verdict = verdicts(MET.merge(0 => 30_000, 10 => 28_500)).first
    assert_equal [:met, "28.5 %; 0.95 x"], [verdict.status, verdict.measured]
    assert_equal :missed, verdicts(MET.merge(0 => 30_000, 10 => 28_400)).first.status
  end

  def test_memory_is_judged_by_the_worst_round_of_all_delays
    statuses = ->(worst) { verdicts(MET, growth: { 100 => worst }).map(&:status)[4] }
    assert_equal %i[met missed], [statuses.call(79_999_999), statuses.call(80_000_000)]
  end

  def test_a_single_error_is_one_too_many
    assert_equal :missed, verdicts(MET, errors: { 50 => 1 }).last.status
  end

  def test_nothing_measured_is_unknown
    assert_equal [:unknown] * 6, @claim.verdicts(Results.new([], servers: [])).map(&:status)
  end

  def test_the_rates_stand_beside_the_ideal_and_the_figures_of_2009
    rows = @claim.tables(results(MET)).first.rows
    assert_equal ["ideal", "-", "100,000", "20,000", "10,000", "2,000"], rows.first
    assert_equal ["neverblock", "60,000", "50,000 = 50.0 %", "18,000 = 90.0 %", "9,200 = 92.0 %",
                  "1,860 = 93.0 %"], rows[1]
    assert_equal ["2009: NeverBlock", "2,360", "1,997", "1,837", "1,656", "1,031"], rows.last
  end

  def test_every_table_has_a_cell_for_every_delay
    @claim.tables(results(MET)).each do |table|
      assert_whole_rows(table)
    end
  end

  def test_at_500_ms_a_run_is_long_enough_for_many_steps_even_in_a_quick_look
    scenario = @claim.scenarios.last
    assert_equal [20, 10],
                 [scenario.seconds(Settings.for), scenario.seconds(Settings.for(quick: true))]
  end

  def test_the_warm_up_never_sleeps
    assert_equal ["/0"], @claim.scenarios.map { |scenario| scenario.warmup.path }.uniq
  end

  private

  def verdicts(rates, **changes)
    @claim.verdicts(results(rates, **changes))
  end

  def results(rates, growth: {}, errors: {})
    runs = rates.map do |delay, rate|
      run_of("neverblock", scenario: "sleep #{delay} ms", rate: rate,
                           error_count: errors.fetch(delay, 0), cpu_us_per_request: 7.0,
                           p50_us: 1000, rss_idle_bytes: 30_000_000,
                           rss_growth_bytes: growth.fetch(delay, 1_000_000))
    end
    Results.new(runs, servers: ["neverblock"])
  end
end
