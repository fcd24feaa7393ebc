# frozen_string_literal: true

require_relative "bench_case"

class BenchColdMeasurementTest < BenchCase
  HOT = Arrivals.new(rate: 200, path: "/1KB.bin", connections: 16)
  LOAD = Cold.new(hot: HOT, clients: 2, files: %w[2KB-1.bin 2KB-2.bin], bytes_per_second: 4_000)

  class StandInDisk
    attr_reader :made, :removed

    def call(directory, **options)
      @made = [directory, options]
      self
    end

    def remove
      @removed = true
    end
  end

  # Ends only when the downloads have begun: they run beside what is measured.
  class StandInHot
    attr_reader :loads

    def initialize(begun)
      @begun = begun
    end

    def take(_process, scenario, _settings, around:)
      @loads = [scenario.name, scenario.load]
      around.call { @begun.pop }
      { "p99_us" => 900, "error_count" => 1, "flags" => ["hot"] }
    end
  end

  class StandInClients
    attr_reader :told

    def initialize(begun, bytes: 8_000, errors: {})
      @begun = begun
      @bytes = bytes
      @errors = errors
    end

    def run(load, entries:, **told)
      @told = [load.clients, entries.map(&:url), entries.map { |entry| File.size(entry.disk) },
               told]
      @begun << true
      DownloadClients::Outcome.new(bytes: @bytes, seconds: 2.0, errors: @errors, faults: [])
    end

    include NeverBlock::Bench
  end

  def setup
    @files = FileSet.new
    @disk = StandInDisk.new
  end

  def teardown
    @files.remove
  end

  def test_the_hot_file_is_measured_while_cold_ones_are_downloaded
    figures = take
    assert_equal ["n", HOT], @hot.loads
    assert_equal [2, ["/cold/2KB-1.bin", "/cold/2KB-2.bin"], [2_000, 2_000],
                  { url: "http://h", ramp: 0, seconds: 8 }], @clients.told
    assert_equal [900, 0.004, 1, ["hot"]],
                 figures.values_at("p99_us", "cold_megabytes_per_second", "error_count", "flags")
  end

  def test_the_disk_holds_copies_and_is_gone_afterwards
    take
    copied = LOAD.files.map { |name| @files.entry(name).disk }
    assert_equal [File.join(@files.directory, "cold"), { files: copied, bytes_per_second: 4_000 }],
                 @disk.made
    assert @disk.removed
  end

  def test_a_disk_that_was_not_cold_is_flagged
    assert_includes take(bytes: 16_001)["flags"], "the disk was not cold"
    refute_includes take(bytes: 16_000)["flags"], "the disk was not cold"
  end

  def test_a_server_that_sent_nothing_cold_is_flagged
    assert_includes take(bytes: 0)["flags"], "nothing was sent from the cold disk"
  end

  def test_errors_of_both_are_counted
    figures = take(errors: { "bytes" => 2 })
    assert_equal 3, figures["error_count"]
    assert_includes figures["flags"], "errors: bytes 2"
  end

  private

  def take(**clients)
    begun = Queue.new
    @hot = StandInHot.new(begun)
    @clients = StandInClients.new(begun, **clients)
    process = Struct.new(:url).new("http://h")
    measurement = ColdMeasurement.new(hot: @hot, clients: @clients, files: @files, disk: @disk)
    measurement.take(process, Scenario.new(name: "n", title: "t", load: LOAD), Settings.for)
  end
end
