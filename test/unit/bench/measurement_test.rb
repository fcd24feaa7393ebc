# frozen_string_literal: true

require_relative "bench_case"

class BenchMeasurementTest < BenchCase
  # Plays a load of 1000 requests in a second and lets the tree spend CPU and memory meanwhile.
  class StandInLoad
    attr_reader :asked

    def initialize(tree, **changes)
      @tree = tree
      @changes = changes
      @asked = []
    end

    def run(load, url:, seconds:)
      @asked << [load.path, url, seconds]
      @tree.spend(0.5, 1_000_000)
      NeverBlock::Bench::Wrk::Outcome.new(requests: 1000, seconds: 1.0, bytes: 150_000,
                                          cpu_seconds: 0.25,
                                          errors: { "connect" => 0, "read" => 0, "status" => 0 },
                                          latency_us: { "p50" => 40, "p99" => 90 }, **@changes)
    end
  end

  class StandInTree
    attr_reader :cpu_seconds, :pids

    def initialize
      @pids = [1]
      @cpu_seconds = 10.0
      @rss_bytes = 50_000_000
    end

    def rss_bytes(_pids = pids)
      @rss_bytes
    end

    def spend(seconds, bytes)
      @cpu_seconds += seconds
      @rss_bytes += bytes
    end
  end

  def test_cpu_a_request_counts_only_the_measured_load_and_not_the_warm_up
    figures = take
    assert_in_delta 500.0, figures["cpu_us_per_request"]
    assert_equal [1000.0, 40, 90, 150.0],
                 figures.values_at("rate", "p50_us", "p99_us", "bytes_per_request")
  end

  def test_idle_memory_is_taken_before_the_warm_up
    assert_equal [50_000_000, 52_000_000, 2_000_000],
                 take.values_at("rss_idle_bytes", "rss_peak_bytes", "rss_growth_bytes")
  end

  def test_the_warm_up_runs_first_with_its_own_load
    tree = StandInTree.new
    load = StandInLoad.new(tree)
    take(load: load, tree: tree)
    assert_equal [["/warm", "http://h", 1], ["/load", "http://h", 2]], load.asked
  end

  def test_a_run_with_errors_is_flagged_with_their_kinds
    figures = take(errors: { "connect" => 0, "read" => 3, "status" => 4 })
    assert_equal 7, figures["error_count"]
    assert_includes figures["flags"], "errors: read 3, status 4"
  end

  def test_a_load_generator_at_its_limit_is_flagged
    assert_includes take(cpu_seconds: 0.97)["flags"], "the load generator was the limit"
    refute_includes take(cpu_seconds: 0.90)["flags"], "the load generator was the limit"
  end

  def test_other_work_on_the_machine_is_flagged
    clock = [0.0, 5.0]
    flags = Machine.stub(:work_seconds, -> { clock.shift }) { take["flags"] }
    assert(flags.any? { |flag| flag.match?(/other work took \d+ % of a processor/) }, flags.inspect)
  end

  def test_a_run_without_a_single_answer_has_no_cpu_a_request_and_is_flagged
    figures = take(requests: 0, bytes: 0)
    assert_nil figures["cpu_us_per_request"]
    assert_includes figures["flags"], "no request was answered"
  end

  def test_a_pipelined_run_has_no_latencies
    assert_nil take(latency_us: {})["p50_us"]
  end

  def test_a_server_that_died_under_load_gives_no_figures
    error = assert_raises(Error) { take(alive: false) }
    assert_equal "the server ended under load: killed", error.message
  end

  private

  def take(tree: StandInTree.new, load: nil, alive: true, **changes)
    load ||= StandInLoad.new(tree, **changes)
    scenario = Scenario.new(name: "n", title: "t", load: Load.new(connections: 1, path: "/load"),
                            warmup: Load.new(connections: 1, path: "/warm"))
    process = StandInProcess.new(tree, "http://h", alive)
    Measurement.new(load_generator: load).take(process, scenario, Settings.for(quick: true))
  end
end
