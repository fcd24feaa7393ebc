# frozen_string_literal: true

require_relative "page_case"

class BenchComparisonTest < PageCase
  def test_the_same_report_has_no_change
    comparison = Comparison.new([report("hello")], [report("hello")])
    assert_equal [:noise], comparison.counts.keys
    assert_empty comparison.cautions
  end

  def test_better_and_worse_follow_the_figure
    old = report("hello")
    [["rate", 0.1], ["cpu_us_per_request", 0.1]].each do |metric, factor|
      row = figure(old, metric, "1 client", "neverblock")
      %w[median low high].each { |key| row[key] *= factor }
    end
    changes = Comparison.new([old], [report("hello")]).changes
      .select { |one| [one.scenario, one.server] == ["1 client", "neverblock"] }
    assert_equal({ "rate" => :better, "cpu_us_per_request" => :worse },
                 changes.to_h { |one| [one.plot.metric, one.difference.kind] })
  end

  def test_another_machine_or_length_is_said
    old = report("hello")
    old["machine"]["cpu"] = "another"
    old["settings"]["seconds"] = 60
    assert_equal ["The machines differ (cpu).", "The length or number of rounds differs."],
                 Comparison.new([old], [report("hello")]).cautions
  end

  def test_nothing_in_common_is_said
    assert_equal "Compared: no figure is in both reports.",
                 Comparison.new([report("clients")], [report("hello")]).summary
  end

  def test_a_report_of_all_one_of_a_claim_and_a_folder_can_be_read
    Dir.mktmpdir do |directory|
      FileUtils.cp(REPORT, directory)
      one = File.join(directory, "hello.json")
      File.write(one, JSON.generate(report("hello")))
      assert_equal ["hello"], claims(one)
      assert_equal %w[hello clients], claims(REPORT)
      assert_equal %w[clients hello], claims(directory).sort
    end
  end

  private

  def claims(path)
    Comparison.read(path).map { |report| report["claim"] }
  end
end
