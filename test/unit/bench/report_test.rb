# frozen_string_literal: true

require_relative "bench_case"

class BenchReportTest < BenchCase
  def test_the_json_has_everything_a_reader_needs_to_judge_the_figures
    data = JSON.parse(JSON.generate(report.to_h))
    assert_equal "neverblock-bench/1", data["schema"]
    assert_equal %w[claim figures finished_at flagged_runs interrupted load_generator machine
                    missing published published_note run_count runs scenarios schema servers
                    settings skipped started_at tables title verdicts], data.keys.sort
    assert_equal({ "server" => "a", "scenario" => "one", "metric" => "rate", "median" => 15.0,
                   "low" => 10, "high" => 20, "rounds" => 2 },
                 data["figures"].first)
    assert_equal({ "text" => "a beside b", "status" => "met", "measured" => "0.58 x (0.50..0.67)",
                   "limit" => "at least 0.5 x" },
                 data["verdicts"].first)
  end

  def test_markdown_shows_conditions_tables_and_verdicts
    text = report.to_markdown
    assert_match(/\A# a stand-in\n/, text)
    assert_includes text, "- a: version 1, plain, YJIT"
    assert_includes text, "- left out: c: not installed"
    assert_includes text, "| a      | 15 (10..20) |"
    assert_match(/\| a beside b \| at least 0.5 x \| 0.58 x \(0.50..0.67\) \|\s+met \|/, text)
  end

  def test_the_text_for_a_terminal_has_no_markup
    refute_match(/^[#|-] /, report.to_text)
    assert_includes report.to_text, "a       15 (10..20)"
  end

  def test_a_server_without_yjit_is_called_out
    assert_includes report(yjit: false).to_text, "plain, WITHOUT YJIT"
  end

  def test_a_missed_claim_stands_out
    assert_includes report(rate: 1000).to_text, "MISSED"
  end

  def test_flags_of_one_kind_make_one_line
    text = report(flags: ["other work took 31 % of a processor"]).to_text
    assert_includes text,
                    "4 of 4 runs: other work took over 10 % of a processor (a, one x2; b, one x2)"
  end

  def test_errors_of_one_kind_make_one_line_whatever_their_number
    text = report(flags: ["errors: read 3, status 12"]).to_text
    assert_includes text, "4 of 4 runs: errors: read, status (a, one x2; b, one x2)"
  end

  def test_a_report_is_written_as_json_and_markdown
    Dir.mktmpdir do |directory|
      paths = report.write(File.join(directory, "new"))
      assert_equal(%w[standin.json standin.md], paths.map { |path| File.basename(path) })
      assert_equal "standin", JSON.parse(File.read(paths.first))["claim"]
      assert_equal report.to_markdown, File.read(paths.last)
    end
  end

  def test_a_quick_look_is_named_so_and_says_so
    Dir.mktmpdir do |directory|
      assert_equal "standin-quick.json", File.basename(report(quick: true).write(directory).first)
    end
    assert_includes report(quick: true).to_text, "too short to quote"
  end

  def test_a_folder_that_cannot_be_written_is_an_error
    error = assert_raises(Error) { report.write("/proc/none") }
    assert_match(%r{cannot write the report to /proc/none}, error.message)
  end

  def test_only_a_run_without_figures_makes_it_failed
    refute report.failed?
    assert report(failed: "ended").failed?
  end

  private

  def report(rate: 30, yjit: true, quick: false, flags: [], **extra)
    servers = %w[a b].map do |name|
      { "name" => name, "version" => "1", "settings" => "plain", "yjit" => yjit }
    end
    runs = [["a", 1, 10], ["b", 1, 20], ["a", 2, 20], ["b", 2, rate]].map do |server, round, value|
      run_of(server, round: round, scenario: "one", rate: value, flags: flags, **extra)
    end
    Report.new(claim: StandInClaim.new, settings: Settings.for(quick: quick, rounds: 2),
               machine: { "cores" => 2, "cpu" => "C" }, servers: servers,
               skipped: [{ "name" => "c", "reason" => "not installed" }], runs: runs,
               started: Time.at(0).utc, finished: Time.at(60).utc)
  end
end
