# frozen_string_literal: true

require_relative "page_case"

class BenchReadingTest < PageCase
  def test_a_difference_counts_only_beyond_the_noise_of_both
    base = { "median" => 100.0, "low" => 90.0, "high" => 110.0, "rounds" => 3 }
    above = { "median" => 150.0, "low" => 111.0, "high" => 160.0, "rounds" => 3 }
    touching = above.merge("low" => 110.0)
    one = above.merge("rounds" => 1)
    pairs = [[above, :more], [above, :less], [touching, :more], [one, :more]]
    kinds = pairs.map do |figure, better|
      Difference.between(figure, base, better).kind
    end
    assert_equal %i[better worse noise unknown], kinds
    assert_equal "50 %", Difference.between(above, base, :more).size
    assert_equal "from 0", Difference.between(above, base.merge("median" => 0), :more).size
  end

  def test_each_kind_of_difference_is_told_with_its_load
    hello = report("hello")
    set(hello, "64 clients", [90, 100, 110], [40, 50, 60])
    set(hello, "1 client", [90, 100, 110], [180, 200, 220])
    set(hello, "64 clients, 16 deep", [90, 100, 110], [90, 101, 112])
    assert_includes Reading.new(Figures.new(hello)).sentences,
                    "Requests a second, the best of NeverBlock beside the best of the others: " \
                    "ahead in 1 load (64 clients: by 100 %); behind in 1 load (1 client: by " \
                    "50 %); no difference beyond the noise in 1 load."
  end

  def test_one_round_is_not_judged
    sentences = Reading.new(Figures.new(report("clients"))).sentences
    rates = sentences.find { |sentence| sentence.start_with?("Requests a second") }
    assert_match(/best of the others: not judged \(one round has no noise\) in \d loads?/, rates)
    refute_match(/ahead|behind/, rates)
  end

  def test_without_a_peer_nothing_is_compared
    hello = report("hello")
    hello["figures"].reject! { |row| row["server"] == "nginx" }
    refute(Reading.new(Figures.new(hello)).sentences.any? { |text| text.include?("others") })
  end

  def test_errors_warnings_and_missing_runs_are_told
    hello = report("hello").merge("flagged_runs" => 2, "run_count" => 12, "missing" => [{}])
    figure(hello, "error_count", "1 client", "nginx")["high"] = 3
    text = Reading.new(Figures.new(hello)).sentences.join("\n")
    assert_includes text, "Errors were counted in: nginx, 1 client."
    assert_includes text, "2 of 12 runs have a warning"
    assert_includes text, "1 planned runs are missing"
  end

  def test_the_rate_of_an_open_loop_is_no_result
    hello = report("hello")
    rate = Plots.of("hello").first
    hello["figures"] << figure(hello, "rate", "1 client", "nginx").merge("metric" => "late_p99_us")
    assert_equal ["64 clients", "64 clients, 16 deep"], Figures.new(hello).scenarios(rate)
  end

  private

  # Rates as lowest, median and highest round.
  def set(report, scenario, own, other)
    { "neverblock" => own, "nginx" => other }.each do |server, (low, median, high)|
      figure(report, "rate", scenario, server)
        .merge!("low" => low, "median" => median, "high" => high, "rounds" => 2)
    end
  end
end
