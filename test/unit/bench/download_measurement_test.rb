# frozen_string_literal: true

require "socket"
require_relative "bench_case"

class BenchDownloadMeasurementTest < BenchCase
  class StandInTree
    attr_writer :cpu_seconds

    def rss_bytes(*)
      30_000_000
    end

    def pids
      [1]
    end

    def cpu_seconds
      @cpu_seconds ||= 0.0
    end
  end

  # Clients with given results. The server uses CPU time before and after counting begins.
  class StandInClients
    attr_reader :told

    def initialize(tree, begins: true, **changes)
      @tree = tree
      @begins = begins
      @changes = changes
    end

    def run(_load, entries:, **told)
      @told = [entries.map(&:url), told.except(:url)]
      @tree.cpu_seconds += 7.0
      yield if @begins
      @tree.cpu_seconds += 0.5
      outcome
    end

    def outcome
      times = { "mean" => 500.0, "p50" => 400, "p90" => 800, "p99" => 900, "max" => 1_000 }
      NeverBlock::Bench::DownloadClients::Outcome.new(
        requests: 100, bytes: 200_000_000, compared_bytes: 50_000_000, top_bytes: 30_000_000,
        top_us: 15_000_000, hangups: 0, waiting: 1, cpu_us: 400_000, longest_pause_us: 70,
        standstill_us: 999_999, stopped_open: 3, stopped_closed: 0, first_us: times,
        whole_us: times, errors: { "bytes" => 0, "short" => 0 }, by_file: [100], seconds: 2.0,
        faults: [], **@changes
      )
    end
  end

  class StandInCores
    attr_reader :given

    def give_tree(tree)
      @given = tree
    end
  end

  def setup
    @files = FileSet.new
    @tree = StandInTree.new
    @cores = StandInCores.new
    @body = nil
    @listener = TCPServer.new("127.0.0.1", 0)
    @server = Thread.new { serve }
  end

  def teardown
    @server.kill.join
    @listener.close
    @files.remove
  end

  def test_the_figures_are_those_of_the_seconds_that_count
    figures = take
    assert_equal [50.0, 100.0, 2.0, 0.25],
                 figures.values_at("rate", "megabytes_per_second", "top_megabytes_per_second",
                                   "compared_share")
    assert_equal [500.0, 900, 0.2, 1, 3, 0],
                 figures.values_at("first_mean_us", "first_p99_us", "generator_cpu_share",
                                   "waiting", "stopped_open", "error_count")
  end

  def test_cpu_time_of_the_ramp_is_not_counted
    figures = take
    share = figures["server_cpu_share"]
    assert_operator share * figures_wall(figures), :<, 1.0
    assert_in_delta share * 2.0 / 100 * 1e6, figures["cpu_us_per_request"], 200
    assert_in_delta share * 2.0 / 200 * 1e6, figures["cpu_us_per_megabyte"], 100
  end

  def test_of_one_file_parts_of_downloads_count
    figures = take(settings: Settings.for(quick: true), requests: 0)
    assert_equal [0, 200_000_000 / 1_000 / 2.0], figures.values_at("requests", "rate")
    assert_in_delta figures["server_cpu_share"] * 2.0 / 200_000 * 1e6,
                    figures["cpu_us_per_request"], 1
  end

  def test_the_server_has_a_core_of_its_own_and_the_clients_are_told_the_load
    take
    assert_same @tree, @cores.given
    assert_equal [["/1KB.bin", "/2KB.bin"], { ramp: 20, seconds: 180 }], @clients.told
    take(settings: Settings.for(quick: true, seconds: 30, warmup_seconds: 3))
    assert_equal [["/1KB.bin"], { ramp: 3, seconds: 30 }], @clients.told
  end

  def test_a_server_of_wrong_files_is_not_measured
    @body = "x" * 1_000
    error = assert_raises(Error) { take }
    assert_match(%r{\A/1KB.bin: status 200, 1000 bytes that differ}, error.message)
  end

  def test_a_server_that_died_gives_no_figures
    error = assert_raises(Error) { take(alive: false) }
    assert_equal "the server ended under load: killed", error.message
  end

  def test_clients_that_never_began_give_no_figures
    assert_equal "the clients never started", assert_raises(Error) { take(begins: false) }.message
  end

  def test_errors_are_counted_and_flagged_by_kind
    figures = take(errors: { "bytes" => 2, "short" => 0 }, faults: ["bytes: ..."])
    assert_equal [2, ["bytes: ..."]], figures.values_at("error_count", "faults")
    assert_includes figures["flags"], "errors: bytes 2"
  end

  def test_clients_without_time_of_their_own_flag_the_run
    assert_includes take(cpu_us: 1_990_000)["flags"], "the clients were the limit"
    refute_includes take["flags"], "the clients were the limit"
  end

  def test_clients_that_did_not_run_flag_the_run
    refute_match(/stood still/, take["flags"].join)
    assert_includes take(standstill_us: 17_900_000)["flags"],
                    "the clients stood still for 17 s: measure again"
  end

  def test_where_nothing_ended_there_is_no_cost_of_one
    figures = take(requests: 0, bytes: 0, compared_bytes: 0, top_bytes: 0, top_us: 0)
    assert_equal [nil] * 4,
                 figures.values_at("cpu_us_per_request", "cpu_us_per_megabyte",
                                   "top_megabytes_per_second", "compared_share")
  end

  private

  def take(alive: true, settings: Settings.for(seconds: 180, warmup_seconds: 20), **clients)
    @clients = StandInClients.new(@tree, **clients)
    load = Crowd.new(clients: 1, files: %w[1KB.bin 2KB.bin], files_quick: %w[1KB.bin])
    scenario = Scenario.new(name: "n", title: "t", load: load)
    process = StandInProcess.new(@tree, "http://127.0.0.1:#{@listener.addr[1]}", alive)
    measurement = DownloadMeasurement.new(clients: @clients, files: @files, cores: @cores)
    measurement.take(process, scenario, settings)
  end

  # The stand-in spends half a second of CPU time however long it takes.
  def figures_wall(figures)
    0.5 / figures["server_cpu_share"]
  end

  def serve
    loop do
      socket = @listener.accept
      name = socket.gets[%r{/(\S+)}, 1]
      nil until socket.gets == "\r\n"
      body = @body || File.binread(File.join(@files.directory, name))
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: #{body.bytesize}\r\n" \
                   "connection: close\r\n\r\n", body)
      socket.close
    end
  rescue IOError, SystemCallError
    nil
  end
end
