# frozen_string_literal: true

require_relative "bench_case"

class BenchTurnsMeasurementTest < BenchCase
  StandIn = Struct.new(:name, :tree, :alive) do
    alias_method :alive?, :alive

    def url = "http://#{name}"
    def last_words = "killed"
  end
  Spent = Struct.new(:cpu_seconds)

  # What starts the other server.
  StandInHost = Struct.new(:process, :started) do
    def run(server, app:, path:)
      self.started = [server, app, path]
      yield process
    end
  end

  # 100,000 requests a turn; what they cost each server in its turns, the warm-up first, in microseconds.
  class StandInLoad
    attr_reader :asked

    def initialize(costs, errors: {}, requests: 100_000)
      @costs = costs
      @errors = errors
      @requests = requests
      @asked = []
    end

    def run(load, url:, seconds:)
      name = url.delete_prefix("http://")
      @asked << [name, load.path, seconds]
      tree, costs = @costs.fetch(name)
      tree.cpu_seconds += costs.shift * @requests / 1e6
      NeverBlock::Bench::Wrk::Outcome.new(requests: @requests, seconds: 1.0, bytes: 0, cpu_seconds: 0.2, errors: { "read" => 0 }.merge(@errors), latency_us: {})
    end
  end

  def test_turns_are_compared_in_pairs_and_the_warm_up_is_none
    figures = take(two: [50.0, 9.0, 12.0, 8.5], one: [40.0, 8.0, 11.5, 8.3])
    assert_equal [3, 0.5], [figures["turns"], figures["cpu_us_over_other"].round(6)], "differences of 1.0, 0.5 and 0.2"
    assert_equal [9.0, 8.3], figures.values_at("cpu_us_per_request", "other_cpu_us_per_request").map { |cost| cost.round(6) }
    assert_equal [300_000, 0, []], figures.values_at("requests", "error_count", "flags")
  end

  def test_who_was_last_is_first_next
    take(two: [1.0] * 4, one: [1.0] * 4)
    assert_equal [["two", "/", 1], ["one", "/", 1], ["two", "/", 1], ["one", "/", 1], ["one", "/", 1], ["two", "/", 1], ["two", "/", 1], ["one", "/", 1]], @load.asked
  end

  def test_errors_of_both_count
    figures = take(two: [1.0] * 4, one: [1.0] * 4, errors: { "read" => 2 })
    assert_equal [12, ["errors: read 12"]], figures.values_at("error_count", "flags")
  end

  def test_without_an_answer_or_a_server_there_are_no_figures
    assert_equal "no request was answered", assert_raises(Error) { take(two: [1.0] * 4, one: [1.0] * 4, requests: 0) }.message
    assert_equal "the server ended under load: killed", assert_raises(Error) { take(two: [1.0] * 4, one: [1.0] * 4, alive: false) }.message
  end

  def test_the_report_names_the_load_and_the_other_server
    assert_equal({ connections: 64, threads: 1, pipeline: 1, path: "/", other: "one" }, Turns.new(load: Load.new(connections: 64), other: :one).to_h)
  end

  private

  def take(two:, one:, alive: true, **load)
    process, other = %w[two one].map { |name| StandIn.new(name, Spent.new(1.0), alive) }
    host = StandInHost.new(other)
    @load = StandInLoad.new({ "two" => [process.tree, two], "one" => [other.tree, one] }, **load)
    scenario = Scenario.new(name: "n", title: "t", load: Turns.new(load: Load.new(connections: 1), other: :one), warmup: nil, seconds_min_quick: 3)
    TurnsMeasurement.new(app: "a.ru", load_generator: @load, host: host).take(process, scenario, Settings.for(quick: true)).tap { assert_equal [:one, "a.ru", "/"], host.started }
  end
end
