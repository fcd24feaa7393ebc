# frozen_string_literal: true

require_relative "bench_case"

class BenchRunnerTest < BenchCase
  # Starts nothing; remembers who was asked for, and fails where told to.
  class StandInHost
    attr_reader :started

    def initialize(broken: nil, interrupted_at: nil)
      @broken = broken
      @interrupted_at = interrupted_at
      @started = []
    end

    def run(server, app:, path:)
      @started << [server.name, app, path]
      raise Interrupt if @started.size == @interrupted_at
      raise NeverBlock::Bench::Error, "did not answer" if server.name == @broken

      command = ["#{NeverBlock::Bench::ROOT}/exe/x", "-c", "/tmp/neverblock-bench1/nginx.conf"]
      yield Struct.new(:command, :yjit).new(command, true)
    end
  end

  class StandInMeasurement
    def take(_process, scenario, _settings)
      { "rate" => scenario.name == "one" ? 10.0 : 20.0, "flags" => [] }
    end
  end

  def setup
    @said = StringIO.new
    @host = StandInHost.new
  end

  def test_every_round_runs_every_server_once_for_each_load_in_rotated_order
    go(servers("a", "b", "c"), rounds: 2)
    assert_equal %w[a b c a b c b c a b c a], @host.started.map(&:first)
  end

  def test_an_interruption_keeps_the_runs_before_it_and_names_the_others
    @host = StandInHost.new(interrupted_at: 3)
    report = go(servers("a", "b"), rounds: 1)
    assert report["interrupted"]
    assert_equal([%w[one a], %w[one b]],
                 report["runs"].map { |run| run.values_at("scenario", "server") })
    assert_equal([%w[two a interrupted], %w[two b interrupted]],
                 report["missing"].map { |run| run.values_at("scenario", "server", "reason") })
  end

  def test_an_interruption_of_the_first_run_leaves_nothing_to_report
    @host = StandInHost.new(interrupted_at: 1)
    assert_raises(Interrupt) { go(servers("a"), rounds: 1) }
  end

  def test_loads_that_a_quick_look_leaves_out_are_missing
    report = go(servers("a"), rounds: 1, scenarios: StandInClaim.new.scenarios.first(1))
    assert_equal [["two", "left out of a quick look at all"]],
                 (report["missing"].map { |run| run.values_at("scenario", "reason") })
  end

  def test_each_line_tells_the_time_left
    go(servers("a"), rounds: 1)
    assert_equal 2, @said.string.scan(/ \(about \d+ s left\)$/).size
  end

  def test_a_server_is_given_only_the_loads_it_can_bear
    claim = StandInClaim.new
    bears = ->(server, scenario) { server.name == "a" || scenario.name == "two" }
    claim.stub(:measures?, bears) { go(servers("a", "b"), rounds: 1, claim: claim) }
    assert_equal %w[a a b], @host.started.map(&:first)
  end

  def test_a_server_is_started_fresh_with_the_application_and_probe_of_the_claim
    go(servers("a"), rounds: 1)
    assert_equal [["a", StandInClaim.new.app, "/"]] * 2, @host.started
  end

  def test_each_run_is_reported_with_its_place
    report = go(servers("a", "b"), rounds: 1)
    assert_equal([[1, "one", "a"], [1, "one", "b"], [1, "two", "a"], [1, "two", "b"]],
                 report["runs"].map { |run| run.values_at("round", "scenario", "server") })
  end

  def test_a_server_that_is_not_installed_is_left_out_by_name_with_the_reason
    missing = StandInServer.new("b", missing: "b is not installed: bin/setup --all")
    report = go([*servers("a"), missing], rounds: 1)
    assert_equal [{ "name" => "b", "reason" => "b is not installed: bin/setup --all" }],
                 report["skipped"]
    assert_equal(["a"], report["servers"].map { |server| server["name"] })
    assert_match(/b is skipped: b is not installed/, @said.string)
  end

  def test_no_server_at_all_is_an_error_that_names_each_reason
    error = assert_raises(Error) { go([StandInServer.new("a", missing: "not built")], rounds: 1) }
    assert_equal "standin: nothing to measure (a: not built)", error.message
  end

  def test_a_run_that_fails_is_kept_as_failed_and_the_others_go_on
    @host = StandInHost.new(broken: "a")
    report = go(servers("a", "b"), rounds: 1)
    assert_equal(["did not answer", nil, "did not answer", nil],
                 report["runs"].map { |run| run["failed"] })
    assert_match(/a\s+failed: did not answer/, @said.string)
  end

  def test_what_an_interrupted_run_has_done_is_not_done_again
    Dir.mktmpdir do |directory|
      path = File.join(directory, "x.runs")
      first = go(servers("a", "b"), rounds: 1, journal: Journal.new(path, 1))
      again = go(servers("a", "b"), rounds: 2, journal: Journal.new(path, 1))
      assert_equal first["runs"], again["runs"].first(4)
      assert_equal %w[a b a b b a b a], @host.started.map(&:first)
      assert_equal first["servers"], again["servers"]
      assert_match(/continuing with 4 runs of .*x.runs/, @said.string)
    end
  end

  def test_what_failed_is_done_again
    Dir.mktmpdir do |directory|
      path = File.join(directory, "x.runs")
      @host = StandInHost.new(broken: "a")
      go(servers("a", "b"), rounds: 1, journal: Journal.new(path, 1))
      @host = StandInHost.new
      report = go(servers("a", "b"), rounds: 1, journal: Journal.new(path, 1))
      assert_equal %w[a a], @host.started.map(&:first)
      assert_equal([10.0, 10.0, 20.0, 20.0], report["runs"].map { |run| run["rate"] })
    end
  end

  def test_progress_has_a_line_for_each_run_and_an_estimate_first
    go(servers("a", "b"), rounds: 2)
    lines = @said.string.lines
    assert_match(/2 candidates, 2 loads, 2 rounds, about 36 s/, lines.first)
    assert_match(%r{standin  round 1/2  one +a +10/s}, lines[1])
    assert_equal 9, lines.size
  end

  def test_the_report_names_no_folder_of_this_machine
    command = go(servers("a"), rounds: 1)["servers"].first["command"]
    assert_equal ["exe/x", "-c", "TMP/nginx.conf"], command
  end

  private

  def servers(*names)
    names.map { |name| StandInServer.new(name) }
  end

  def go(servers, rounds:, claim: StandInClaim.new, journal: Journal.none,
         scenarios: claim.scenarios)
    Runner.new(claim, settings: Settings.for(quick: true, rounds: rounds),
                      progress: Progress.new(@said), servers: servers,
                      measurement: StandInMeasurement.new, host: @host, journal: journal,
                      scenarios: scenarios).run.to_h
  end
end
