# frozen_string_literal: true

require_relative "bench_case"

class BenchOpenMeasurementTest < BenchCase
  Answer = OpenLoop::Answer

  # Answers each request after its service time, or as the block says.
  class StandInLoad
    attr_reader :asked

    def initialize(&answer)
      @answer = answer || lambda do |job|
        due = micros(job.due)
        done = micros(job.due + (job.service || 0.001))
        Answer.new(due, due + 10, done, 200, 1 + (due % 2))
      end
      @asked = []
    end

    def run(jobs, url:, connections:)
      @asked << [jobs, url, connections]
      jobs.map(&@answer)
    end

    private

    def micros(seconds)
      (seconds * 1e6).round
    end
  end

  StandInTree = Struct.new(:cpu_seconds, :leaves)
  StandInProcess = Struct.new(:name, :tree, :url, :alive) do
    def alive?
      alive
    end

    def last_words
      "gone"
    end
  end

  QUEUE = Arrivals.new(rate: 160, path: "/sleep/", service_ms: 20, servers: 4)

  def test_a_server_that_needs_the_service_time_alone_is_better_than_any_queue
    found = take
    assert_in_delta Math.log(100) * 20_000, found["p99_us"], 15_000
    assert_operator found["p99_over_ideal"], :<, 1
    assert_operator found["p99_over_played"], :<, 1
    assert_equal 137_864, found["ideal_p99_us"]
    assert_equal [0, 10, 0], found.values_at("error_count", "late_p99_us", "stops")
    assert_empty found["flags"].grep_v(/\Aother work/)
    assert_equal 2, found["workers_seen"]
    assert_nil found["slow_a_stop"]
  end

  def test_latency_counts_from_when_a_request_was_due_and_a_late_generator_is_flagged
    late = StandInLoad.new do |job|
      due_us(job).then { |due| Answer.new(due, due + 5_000, due + 6_000, 200, 0) }
    end
    found = take(late)
    assert_equal [6_000, 6_000, 5_000], found.values_at("p50_us", "p99_us", "late_p99_us")
    assert_includes found["flags"], "the load generator was late"
    assert_nil found["workers_seen"]
  end

  def test_something_else_may_go_on_around_what_is_measured_and_not_around_the_warm_up
    load = StandInLoad.new
    seen = []
    around = lambda do |&measured|
      seen << load.asked.size
      measured.call.tap { seen << load.asked.size }
    end
    take(load, around: around)
    assert_equal [1, 2], seen
  end

  def test_refusals_and_missing_answers_are_errors_by_kind
    count = 0
    load = StandInLoad.new do |job|
      Answer.new(due_us(job), due_us(job), due_us(job), [503, 0, 200][(count += 1) % 3], 0)
    end
    found = take(load)
    assert_equal %w[503 none], found["errors"].keys.sort
    assert_equal found["errors"].values.sum, found["error_count"]
    assert_match(/errors: /, found["flags"].grep(/errors/).first)
  end

  def test_what_took_over_half_a_second_is_counted
    slow = StandInLoad.new do |job|
      Answer.new(due_us(job), due_us(job), due_us(job) + 500_001, 200, 0)
    end
    found = take(slow)
    assert_equal found["requests"], found["slow_count"]
  end

  def test_every_server_has_the_same_requests_in_the_same_round
    load = StandInLoad.new
    measurement = OpenMeasurement.new(load_generator: load)
    %w[a b a b].each { |name| measurement.take(process(name), scenario, settings) }
    runs = load.asked.map(&:first).each_slice(2).map(&:last)
    assert_equal runs[0], runs[1]
    assert_equal runs[2], runs[3]
    refute_equal runs[0], runs[2]
  end

  def test_a_server_that_ended_gives_no_figures
    measurement = OpenMeasurement.new(load_generator: StandInLoad.new)
    error = assert_raises(Error) do
      measurement.take(process("a", alive: false), scenario, settings)
    end
    assert_equal "the server ended under load: gone", error.message
  end

  def test_a_percentile_is_a_value_that_was_measured
    values = (1..100).to_a
    assert_equal [1, 99, 100],
                 [0.01, 0.99, 1].map { |share| OpenMeasurement.percentile(values, share) }
    assert_nil OpenMeasurement.percentile([], 0.5)
  end

  def test_each_load_goes_to_the_measurement_that_knows_it
    closed = Object.new.tap { |one| one.define_singleton_method(:take) { |*| :closed } }
    open = Object.new.tap { |one| one.define_singleton_method(:take) { |*| :open } }
    by_load = MeasurementByLoad.new(Load => closed, Arrivals => open)
    taken = [QUEUE, Load.new(connections: 1)].map do |load|
      by_load.take(nil, Scenario.new(name: "x", title: "x", load: load), nil)
    end
    assert_equal %i[open closed], taken
  end

  private

  def due_us(job)
    (job.due * 1e6).round
  end

  def take(load = StandInLoad.new, **options)
    OpenMeasurement.new(load_generator: load).take(process("a"), scenario, settings, **options)
  end

  def process(name, alive: true)
    StandInProcess.new(name, StandInTree.new(0.0, []), "http://127.0.0.1:1", alive)
  end

  def scenario
    Scenario.new(name: "queue", title: "queue", load: QUEUE, seconds_min: 30)
  end

  def settings
    Settings.for(rounds: 1, seconds: 8)
  end
end
