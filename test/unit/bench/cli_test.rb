# frozen_string_literal: true

require_relative "bench_case"

class BenchCLITest < BenchCase
  # Takes the place of the runner: keeps what it was given, and reports one run.
  class StandInRunner
    class << self
      attr_accessor :calls, :journals, :loads, :seconds, :failing, :interrupted
    end

    def initialize(claim, settings:, servers:, progress:, journal:, scenarios:, time_left:)
      self.class.calls << [claim.name, settings, servers.map(&:name)]
      self.class.journals << journal.path
      self.class.loads << scenarios.map(&:name)
      self.class.seconds << time_left.seconds
      @report = NeverBlock::Bench::Report.new(
        claim: StandInClaim.new, settings: settings, machine: {}, servers: [{ "name" => "a" }],
        skipped: [], interrupted: self.class.interrupted == claim.name,
        started: Time.at(0).utc, finished: Time.at(1).utc,
        runs: [{ "server" => "a", "scenario" => "one", "round" => 1, "rate" => 5, "flags" => [],
                 "failed" => ("ended" if self.class.failing) }]
      )
      progress.say("started")
    end

    def run
      @report
    end
  end

  def setup
    StandInRunner.calls = []
    StandInRunner.journals = []
    StandInRunner.loads = []
    StandInRunner.seconds = []
    StandInRunner.failing = false
    StandInRunner.interrupted = nil
    @out = StringIO.new
    @err = StringIO.new
    @directory = Dir.mktmpdir
  end

  def teardown
    FileUtils.remove_entry(@directory)
  end

  def test_a_name_runs_that_claim_with_every_server_and_prints_its_tables
    assert_equal 0, bench("hello")
    name, settings, servers = StandInRunner.calls.first
    assert_equal ["hello", Settings.for, ["neverblock", "nginx", "iodine 1", "itsi 1", "falcon",
                                          "puma 5"]],
                 [name, settings, servers]
    assert_includes @out.string, "Rates"
    assert_match(/started\nwritten: .*standin.json, .*standin.md/, @err.string)
    assert_path_exists File.join(@directory, "standin.json")
  end

  def test_all_runs_each_that_exists
    bench("all")
    assert_equal Catalog.new.names, StandInRunner.calls.map(&:first)
  end

  def test_quick_rounds_and_seconds_reach_the_run
    bench("hello", "--quick", "--seconds", "3", "--rounds", "1")
    assert_equal Settings.for(quick: true, seconds: 3, rounds: 1), StandInRunner.calls.first[1]
  end

  def test_a_claim_of_long_runs_has_its_own_length_and_a_journal
    bench("downloads", "--quick")
    bench("downloads")
    bench("hello")
    lengths = StandInRunner.calls.map do |_, settings|
      [settings.rounds, settings.seconds, settings.warmup_seconds]
    end
    assert_equal [[1, 30, 3], [1, 180, 20], [5, 8, 2]], lengths
    assert_equal [File.join(@directory, "downloads-quick.runs"),
                  File.join(@directory, "downloads.runs"), nil], StandInRunner.journals
  end

  def test_all_quick_is_planned_for_less_than_25_minutes_and_leaves_out_no_claim
    bench("all", "--quick")
    assert_equal Catalog.new.names, StandInRunner.calls.map(&:first)
    assert_operator StandInRunner.seconds.first, :<, 23 * 60
    assert_equal [1], StandInRunner.calls.map { |_, settings| settings.rounds }.uniq
    assert StandInRunner.loads.all?(&:any?)
  end

  def test_all_writes_a_page_beside_the_reports
    bench("all", "--quick")
    page = File.read(File.join(@directory, "report-quick.html"))
    assert_includes page, "a stand-in"
    assert_equal "neverblock-bench-report/1",
                 JSON.parse(File.read(File.join(@directory, "report-quick.json")))["schema"]
    bench("hello")
    assert_path_exists File.join(@directory, "hello.html")
  end

  def test_an_interruption_of_all_keeps_what_is_done_and_names_it
    StandInRunner.interrupted = "delays"
    assert_equal 1, bench("all")
    assert_equal %w[hello delays], StandInRunner.calls.map(&:first)
    count = Catalog.new.names.size
    assert_match(%r{interrupted; all servers are stopped, kept are 2 of #{count} .*report.html},
                 @err.string.lines.last)
    missing = JSON.parse(File.read(File.join(@directory, "report.json")))["missing"]
    assert_includes missing, { "claim" => "handoff", "reason" => "not reached" }
  end

  def test_a_claim_that_cannot_be_measured_is_left_out_of_all
    broken = lambda do |claim, **options|
      raise Error, "nothing to measure" if claim.name == "hello"

      StandInRunner.allocate.tap { |runner| runner.send(:initialize, claim, **options) }
    end
    StandInRunner.stub(:new, broken) { assert_equal 1, bench("all") }
    assert_includes @err.string, "hello is left out: nothing to measure"
    assert_includes JSON.parse(File.read(File.join(@directory, "report.json")))["missing"],
                    { "claim" => "hello", "reason" => "nothing to measure" }
  end

  def test_a_folder_that_cannot_be_written_is_found_before_anything_is_measured
    file = File.join(@directory, "file")
    File.write(file, "")
    assert_equal 1, cli_with_wrk(["hello", "--report", File.join(file, "in")])
    assert_match(/\A.*cannot write the report to .*; give --report a folder.*\n\z/, @err.string)
    assert_empty StandInRunner.calls
  end

  def test_compare_with_what_is_no_report_is_one_line
    text = File.join(@directory, "text")
    File.write(text, "{}")
    { "/none" => /cannot read the report .none/, text => /is not a report/,
      @directory => /has no report/ }.each do |path, message|
      @err.truncate(@err.rewind)
      assert_equal 1, bench("hello", "--compare", path)
      assert_match(message, @err.string)
      assert_equal 1, @err.string.lines.size
    end
    assert_empty StandInRunner.calls
  end

  def test_compare_prints_what_changed
    bench("hello")
    assert_equal 0, bench("hello", "--compare", File.join(@directory, "standin.json"))
    assert_includes @out.string, "Compared: 1 not judged (one round has no noise)."
  end

  def test_an_interrupted_claim_of_long_runs_says_how_it_goes_on
    StandInRunner.stub(:new, ->(*, **) { raise Interrupt }) { bench("downloads") }
    assert_match(/no report is written; the same command continues/, @err.string)
  end

  def test_peers_are_named_by_family_or_in_full_and_neverblock_stays
    bench("delays", "--peers", "puma,falcon")
    bench("delays", "--peers", "puma-1000")
    assert_equal [["neverblock", "falcon", "puma 5", "puma 1000"], ["neverblock", "puma 1000"]],
                 StandInRunner.calls.map(&:last)
  end

  def test_programs_are_named_as_servers_are
    bench("clients", "--peers", "async")
    bench("switch", "--peers", "io-event-epoll,async")
    assert_equal [["neverblock fibers", "neverblock pool", "async"],
                  ["neverblock", "async epoll", "async uring", "io-event epoll"]],
                 StandInRunner.calls.map(&:last)
  end

  def test_an_unknown_peer_is_an_error_that_lists_the_known_ones
    assert_equal 1, bench("hello", "--peers", "pumma")
    assert_equal "neverblock bench: no peer is called pumma; known are neverblock, nginx, " \
                 "iodine, itsi, falcon, puma, blocking, threads, async, io-event\n", @err.string
  end

  def test_a_run_without_figures_gives_status_1
    StandInRunner.failing = true
    assert_equal 1, bench("hello")
  end

  def test_a_name_that_does_not_exist_is_one_line_and_status_1
    assert_equal 1, bench("stall")
    start = 'neverblock bench: no benchmark is called "stall"; known are hello, delays'
    assert_match(/\A#{start}.*\n\z/, @err.string)
  end

  def test_wrong_options_are_one_line_and_status_1
    {
      ["--fast"] => /invalid option: --fast/,
      ["hello", "--rounds", "0"] => /--rounds must be a number from 1 to 100; got 0/,
      ["hello", "--seconds", "x"] => /invalid argument: --seconds x/,
      %w[hello delays] => /give at most one name, or all; got hello delays/
    }.each do |argv, message|
      @err.truncate(@err.rewind)
      assert_equal 1, bench(*argv)
      assert_match(message, @err.string)
      assert_equal 1, @err.string.lines.size
    end
    assert_empty StandInRunner.calls
  end

  def test_without_a_name_or_with_list_the_claims_are_listed
    assert_equal 0, bench
    assert_match(/^hello    hello: a Rack application/, @out.string)
    assert_match(/^delays   delays: 1000 clients/, @out.string)
  end

  def test_help_names_every_option
    assert_equal 0, bench("--help")
    %w[--list --quick --peers --rounds --seconds --report --compare hello delays].each do |word|
      assert_includes @out.string, word
    end
  end

  def test_without_wrk_nothing_is_started
    Wrk.stub(:version, nil) { assert_equal 1, cli.run(["hello"]) }
    assert_match(%r{wrk is not installed: bin/setup --all}, @err.string)
    assert_empty StandInRunner.calls
  end

  def test_programs_that_measure_themselves_need_no_wrk
    Wrk.stub(:version, nil) { assert_equal 0, cli.run(["switch", "--report", @directory]) }
    assert_equal ["switch"], StandInRunner.calls.map(&:first)
  end

  private

  def bench(*argv)
    report = ["--report", @directory] if argv.any?
    cli_with_wrk([*argv, *report])
  end

  def cli_with_wrk(argv)
    Wrk.stub(:version, "4.1") { cli.run(argv) }
  end

  def cli
    CLI.new(out: @out, err: @err, runner: StandInRunner)
  end
end
