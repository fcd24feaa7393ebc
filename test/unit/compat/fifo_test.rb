# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "timeout"
require "tmpdir"

# Opening a FIFO in a fiber, whatever the Ruby: the other end may be another fiber of the loop.
class FifoTest < Minitest::Test
  include SchedulerHarness

  def setup
    @folder = Dir.mktmpdir
    @path = File.join(@folder, "fifo")
    File.mkfifo(@path)
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  def test_both_ends_are_opened_by_fibers_of_one_loop
    read = nil
    in_scheduler do
      fiber { read = File.read(@path) }
      fiber { File.open(@path, "w") { |io| io.write("written") } }
    end
    assert_equal "written", read
  end

  def test_more_fibers_than_offload_has_threads_wait_for_one_that_writes
    skip "Ruby 3.4 opens on NB.offload's threads itself" if RUBY_VERSION >= "3.4"
    paths = Array.new(40) { |i| File.join(@folder, i.to_s).tap { |path| File.mkfifo(path) } }
    read = []
    in_scheduler do
      paths.each { |path| fiber { read << File.read(path) } }
      paths.each { |path| fiber { File.write(path, "x") } }
    end
    assert_equal ["x"] * 40, read
  end

  def test_a_time_limit_ends_the_wait_and_its_thread
    skip "Ruby 3.4 opens on NB.offload's threads itself" if RUBY_VERSION >= "3.4"
    threads = Thread.list
    in_scheduler do
      fiber { assert_raises(Timeout::Error) { Timeout.timeout(0.01) { File.open(@path) } } }
    end
    (Thread.list - threads).each do |thread|
      assert thread.join(SECONDS), thread.inspect unless thread.name.to_s.start_with?("neverblock")
    end
  end

  def test_what_is_no_fifo_is_opened_as_ever
    in_scheduler do
      fiber do
        assert_raises(Errno::ENOENT) { File.open(File.join(@folder, "none")) }
        assert_raises(ArgumentError) { File.new }
        assert_raises(TypeError) { File.new(Object.new) }
        text = File.open(File.join(@folder, "file"), "w+") do |io|
          io.tap { io << "text" }.rewind && io.read
        end
        assert_equal "text", text
        assert_equal "text", File.read(File.join(@folder, "file"), mode: "rb")
      end
    end
  end
end
