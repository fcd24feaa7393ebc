# frozen_string_literal: true

require_relative "bench_case"

class BenchCLITest < BenchCase
  # Takes the place of the runner: keeps what it was given, and reports one run.
  class StandInRunner
    class << self
      attr_accessor :calls, :journals, :failing
    end

    def initialize(claim, settings:, servers:, progress:, journal:)
      self.class.calls << [claim.name, settings, servers.map(&:name)]
      self.class.journals << journal.path
      @report = NeverBlock::Bench::Report.new(
        claim: StandInClaim.new, settings: settings, machine: {}, servers: [{ "name" => "a" }],
        skipped: [], started: Time.at(0).utc, finished: Time.at(1).utc,
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
    StandInRunner.failing = false
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
    assert_equal ["hello", Settings.for, ["neverblock", "nginx", "iodine 1", "falcon", "puma 5"]],
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
                 "iodine, falcon, puma, blocking, threads, async, io-event\n", @err.string
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
    %w[--list --quick --peers --rounds --seconds --report hello delays].each do |word|
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
    Wrk.stub(:version, "4.1") { cli.run([*argv, *report]) }
  end

  def cli
    CLI.new(out: @out, err: @err, runner: StandInRunner)
  end
end
