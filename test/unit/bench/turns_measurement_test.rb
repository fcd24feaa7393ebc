# frozen_string_literal: true

require_relative "bench_case"

class BenchTurnsMeasurementTest < BenchCase
  StandIn = Struct.new(:name, :tree, :alive) do
    alias_method :alive?, :alive

    def url = "http://#{name}"
    def server = :two
    def last_words = "killed"
  end
  Spent = Struct.new(:cpu_seconds)

  # What starts the servers.
  StandInHost = Struct.new(:processes, :started) do
    def run(server, app:, path:)
      started << [server, app, path]
      yield processes.fetch(server)
    end
  end

  # Gives each server 100,000 requests with the told cost in microseconds. Also plays the warm-up,
  # which must not be counted.
  class StandInLoad
    attr_reader :asked

    def initialize(costs, errors: {}, requests: 100_000)
      @costs = costs
      @errors = errors
      @requests = requests
      @asked = []
    end

    def run(load, seconds:, url: nil, urls: [url])
      @asked << [urls, load.path, seconds]
      urls.map do |each|
        tree, cost = @costs.fetch(each)
        tree.cpu_seconds += cost * @requests / 1e6
        NeverBlock::Bench::Wrk::Outcome.new(requests: @requests, seconds: 1.0, bytes: 0,
                                            cpu_seconds: 0.2,
                                            errors: { "read" => 0 }.merge(@errors), latency_us: {})
      end
    end
  end

  def test_what_all_turns_cost_is_compared_and_the_warm_up_is_none
    figures = take(two: 9.5, one: 8.25)
    assert_equal [9.5, 8.25, 1.25, 1.1515],
                 figures.values_at("cpu_us_per_request", "other_cpu_us_per_request",
                                   "cpu_us_over_other", "cpu_ratio")
    assert_equal [100_000, 100_000, 0, []],
                 figures.values_at("requests", "other_requests", "error_count", "flags")
    assert_equal [[["http://two"], "/", 1], [["http://one"], "/", 1],
                  [["http://two", "http://one"], "/", 3.0]], @load.asked
  end

  def test_lives_share_the_time_and_are_summed_up
    figures = take(two: 9.5, one: 8.25, lives: 3, quick: false)
    assert_equal [300_000, 300_000, 9.5, 8.25],
                 figures.values_at("requests", "other_requests", "cpu_us_per_request",
                                   "other_cpu_us_per_request")
    assert_equal([:one, *%i[two one] * 2], @host.started.map(&:first))
    assert_equal [10.0] * 3, @load.asked.filter_map { |urls, _, seconds| seconds if urls.size == 2 }
    look = take(two: 9.5, one: 8.25, lives: 3)
    assert_equal [100_000, [:one]], [look["requests"], @host.started.map(&:first)], "a look has one"
  end

  def test_errors_of_both_count
    figures = take(two: 1.0, one: 1.0, errors: { "read" => 2 })
    assert_equal [4, ["errors: read 4"]], figures.values_at("error_count", "flags")
  end

  def test_without_an_answer_or_a_server_there_are_no_figures
    error = assert_raises(Error) { take(two: 1.0, one: 1.0, requests: 0) }
    assert_equal "no request was answered", error.message
    error = assert_raises(Error) { take(two: 1.0, one: 1.0, alive: false) }
    assert_equal "the server ended under load: killed", error.message
  end

  def test_the_report_names_the_load_and_the_other_server
    assert_equal({ connections: 64, threads: 1, pipeline: 1, path: "/", other: "one", lives: 1 },
                 Turns.new(load: Load.new(connections: 64), other: :one).to_h)
  end

  private

  def take(two:, one:, alive: true, lives: 1, quick: true, **load)
    process, other = %w[two one].map { |name| StandIn.new(name, Spent.new(1.0), alive) }
    @host = StandInHost.new({ two: process, one: other }, [])
    costs = { process.url => [process.tree, two], other.url => [other.tree, one] }
    @load = StandInLoad.new(costs, **load)
    turns = Turns.new(load: Load.new(connections: 1), other: :one, lives: lives)
    scenario = Scenario.new(name: "n", title: "t", load: turns, warmup: nil, seconds_min: 30,
                            seconds_min_quick: 3)
    measurement = TurnsMeasurement.new(app: "a.ru", warmer: @load, load_generator: @load,
                                       host: @host)
    figures = measurement.take(process, scenario, Settings.for(quick: quick))
    assert_equal [:one, "a.ru", "/"], @host.started.first
    figures
  end
end
