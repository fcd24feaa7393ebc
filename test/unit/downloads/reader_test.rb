# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock"
require "neverblock/config"
require "neverblock/downloads/reader"

class DownloadsReaderTest < Minitest::Test
  Reader = NeverBlock::Downloads::Reader

  # Reports as an engine has them: the pipe is readable while there is one.
  class Engine
    attr_reader :counts
    attr_accessor :dropped

    def initialize
      @reports = Thread::Queue.new
      @readable, @written = IO.pipe
      @counts = []
      @dropped = 0
    end

    def open_reports
      @readable.fileno
    end

    def report(*ids)
      ids.each { |id| @reports << [id, "/files/#{id}", 10, 2.0, :complete] }
      @written << "!"
    end

    # As the engine's: the descriptor is quiet when nothing is left.
    def take_report
      @reports.pop(true)
    rescue ThreadError
      @readable.read_nonblock(64, exception: false)
      nil
    end

    def stats
      { reports_dropped: dropped }
    end

    def count_reports(fate, number)
      @counts << [fate, number]
    end

    def close
      [@readable, @written].each(&:close)
    end
  end

  Log = Struct.new(:lines) do
    def warn(text)
      lines << text
    end
  end

  def setup
    @engine = Engine.new
    @log = Log.new([])
    @seen = Thread::Queue.new
  end

  def teardown
    @engine.close
  end

  def reader
    config = NeverBlock::Config.new(on_download: [->(_report) {}])
    Reader.new(@engine, config, @log, workers: ->(reports) { @seen << reports })
  end

  def test_reports_reach_the_workers_while_it_runs
    started = reader.start
    @engine.report("a", "b")
    found = @seen.pop
    found += @seen.pop while found.size < 2
    assert_equal [["a", "/files/a", 5.0], ["b", "/files/b", 5.0]],
                 found.map { |one| [one.id, one.path, one.bytes_per_second] }
  ensure
    started.close
  end

  def test_what_is_left_at_its_end_is_passed_on_in_batches
    one = reader
    @engine.report(*(1..(Reader::BATCH + 1)).map(&:to_s))
    one.start.close
    batches = Array.new(@seen.size) { @seen.pop }
    assert_equal Reader::BATCH + 1, batches.sum(&:size)
    assert_operator batches.map(&:size).max, :<=, Reader::BATCH
    assert_equal "1", batches.first.first.id
  end

  def test_reports_that_the_loops_have_dropped_are_told_once_and_not_counted_again
    one = reader
    @engine.dropped = 3
    one.start.close
    assert_equal ["3 download reports are lost: #{Reader::FULL}"], @log.lines
    assert_empty @engine.counts, "the engine has counted them already"
  end

  def test_it_is_wanted_where_somebody_takes_reports
    {
      {} => false,
      { report: "http://127.0.0.1:1/" } => true,
      { on_download: [->(_report) {}] } => true
    }.each do |settings, wanted|
      assert_equal wanted, Reader.wanted?(NeverBlock::Config.new(**settings)), settings.inspect
    end
  end
end
