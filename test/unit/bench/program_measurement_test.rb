# frozen_string_literal: true

require_relative "bench_case"

class BenchProgramMeasurementTest < BenchCase
  FOUND = { "count" => 2000, "seconds" => 4.0, "cpu_seconds" => 0.5, "errors" => {}, "p50_us" => 3,
            "p90_us" => 5, "p99_us" => 9, "burst_rate" => 700.0, "rss_idle_bytes" => 100,
            "rss_peak_bytes" => 130, "yjit" => true }.freeze

  # Remembers its job and says what it is told to say.
  class Candidate
    attr_reader :job

    def initialize(found)
      @found = found
    end

    def run(job)
      @job = job
      @found
    end
  end

  Asked = Struct.new(:url, :tree)

  # A server that spent this much CPU time between two looks.
  class Tree
    def initialize(*seconds)
      @seconds = seconds
    end

    def cpu_seconds
      @seconds.shift
    end
  end

  def test_the_job_says_load_length_and_whom_to_ask
    take(FOUND, server: Asked.new("http://h:1", Tree.new(0, 0)))
    assert_equal({ "connections" => 1000, "threads" => 1, "pipeline" => 1, "path" => "/50",
                   "seconds" => 2, "warmup_seconds" => 1, "url" => "http://h:1" },
                 @candidate.job)
  end

  def test_the_figures_are_named_as_a_server_s
    figures = take(FOUND)
    assert_equal [2000, 500.0, 250.0, 0, 30, 700.0, 3],
                 figures.values_at("requests", "rate", "cpu_us_per_request", "error_count",
                                   "rss_growth_bytes", "burst_rate", "p50_us")
    assert_equal 0.0, figures["server_cpu_share"]
    assert @run.yjit
  end

  def test_errors_are_no_answers_and_flag_the_run
    figures = take(FOUND.merge("errors" => { "Errno::ECONNRESET" => 400 }))
    assert_equal [400.0, 400], figures.values_at("rate", "error_count")
    assert_includes figures["flags"], "errors: Errno::ECONNRESET 400"
  end

  def test_a_server_without_rest_flags_the_run
    busy = take(FOUND, server: Asked.new("u", Tree.new(0, 1e6)))
    assert_includes busy["flags"], "the server was the limit"
    idle = take(FOUND, server: Asked.new("u", Tree.new(5, 5)))
    refute_includes idle["flags"], "the server was the limit"
  end

  def test_a_program_that_did_nothing_costs_nothing_and_flags_the_run
    figures = take(FOUND.merge("count" => 0))
    assert_nil figures["cpu_us_per_request"]
    assert_includes figures["flags"], "the program did nothing"
  end

  private

  def take(found, server: nil)
    @candidate = Candidate.new(found)
    @run = ProgramHost::Run.new(program: @candidate, server: server)
    scenario = Scenario.new(name: "n", title: "t", load: Load.new(connections: 1000, path: "/50"))
    ProgramMeasurement.new.take(@run, scenario, Settings.for(quick: true))
  end
end
