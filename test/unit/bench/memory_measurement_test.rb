# frozen_string_literal: true

require_relative "bench_case"

class BenchMemoryMeasurementTest < BenchCase
  # Memory as a server's process tree would tell it: what it had, and what the clients cost.
  class StandInTree
    attr_accessor :rss_bytes, :cpu_seconds

    def initialize
      @cpu_seconds = 0.0
      @rss_bytes = 20_000_000
    end
  end

  # Clients that cost 300 bytes each; `served` of them get their answer.
  class StandInClients
    attr_reader :told

    def initialize(tree, served: nil, open: nil)
      @tree = tree
      @served = served
      @open = open
      @told = []
    end

    def hold(_url)
      yield self
    ensure
      @tree.rss_bytes -= 1_000_000
      @told << :close
    end

    def ask(clients, path, expects: nil)
      @told << [:ask, path, expects]
      @tree.rss_bytes += clients * 300
      @asked = clients
    end

    def answered(expects, within:)
      @told << [:answered, expects, within]
      @served || @asked
    end

    def open
      @open || @asked
    end
  end

  # Rates of the busy loads in the order of their runs; the warm-up is the first.
  class StandInLoad
    attr_reader :asked

    def initialize(told, tree, *rates)
      @told = told
      @tree = tree
      @rates = rates
    end

    def run(load, url:, seconds:)
      @told << [:load, load.connections, url, seconds]
      rate = @rates.shift || 0.0
      @tree.cpu_seconds += 0.001
      Struct.new(:rate, :requests).new(rate, rate.to_i)
    end
  end

  IDLE = Hold.new(clients: 8_000, served: true, busy: 16)
  WAITING = Hold.new(clients: 5_000, path: "/sleep/9", wait_seconds: 9)

  def setup
    @tree = StandInTree.new
  end

  def test_growth_is_shared_by_the_clients
    figures = take(IDLE, 0.0, 100.0, 90.0, 100.0)
    assert_equal [300, 20_000_000, 22_400_000, 2_400_000, 1_400_000],
                 figures.values_at("bytes_per_client", "rss_idle_bytes", "rss_peak_bytes",
                                   "rss_growth_bytes", "rss_left_bytes")
    assert_equal [[], 0], figures.values_at("flags", "error_count")
  end

  def test_the_busy_clients_rate_is_beside_over_the_mean_of_before_and_after
    figures = take(IDLE, 0.0, 110.0, 95.0, 90.0)
    assert_equal [95.0, 100.0, 0.95], figures.values_at("rate", "rate_alone", "busy_share")
  end

  def test_their_cpu_a_request_is_told_beside_and_alone
    figures = take(IDLE, 0.0, 100.0, 50.0, 100.0)
    assert_equal [20.0, 10.0], figures.values_at("cpu_us_per_request", "cpu_us_alone")
  end

  def test_idle_clients_are_served_before_memory_is_read_and_the_busy_come
    take(IDLE)
    assert_equal [[:load, 1, "http://h", 1], [:load, 16, "http://h", 2], [:pause, 5],
                  [:ask, "/", "Hello World"], [:answered, "Hello World", 10], [:pause, 5],
                  [:load, 16, "http://h", 2], :close, [:load, 16, "http://h", 2], [:pause, 5]],
                 @told
  end

  def test_those_that_wait_are_measured_while_they_do_and_have_less_than_two_waits
    figures = take(WAITING)
    assert_equal [[:load, 1, "http://h", 1], [:pause, 5], [:ask, "/sleep/9", nil], [:pause, 5],
                  [:answered, "Hello World", 9], :close, [:pause, 5]], @told
    refute_includes figures, "rate"
  end

  def test_clients_that_were_not_served_or_are_gone_are_counted_and_flagged
    [{ served: 1_000 }, { open: 1_000 }].each do |less|
      figures = take(WAITING, **less)
      assert_equal [4_000, ["it served 1000 of 5000 clients at once"], 1_500],
                   figures.values_at("error_count", "flags", "bytes_per_client")
    end
    assert_nil take(WAITING, served: 0)["bytes_per_client"]
  end

  def test_a_server_that_died_gives_no_figures
    error = assert_raises(Error) { take(IDLE, alive: false) }
    assert_equal "the server ended under load: killed", error.message
  end

  private

  def take(hold, *rates, alive: true, **clients)
    rates = [0.0, 1.0, 1.0, 1.0] if rates.empty?
    held = StandInClients.new(@tree, **clients)
    @told = held.told
    scenario = Scenario.new(name: "n", title: "t", load: hold, warmup: Load.new(connections: 1))
    measurement = MemoryMeasurement.new(
      load_generator: StandInLoad.new(@told, @tree, *rates), held: held,
      pause: ->(seconds) { @told << [:pause, seconds] }
    )
    process = StandInProcess.new(@tree, "http://h", alive)
    measurement.take(process, scenario, Settings.for(quick: true))
  end
end
