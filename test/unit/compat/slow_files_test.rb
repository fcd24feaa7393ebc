# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "neverblock"
require "monitor"
require "tmpdir"

# What an application has defined is called with the state of its request.
class SlowFilesCompatTest < Minitest::Test
  include SchedulerHarness

  # A name and a text that tell of the request.
  class Told
    def initialize(path) = @path = path
    def to_path = state && @path
    def to_s = state
    def state = [Thread.current[:mine], Thread.current.thread_variable_get(:mine)].join(" ").strip
  end

  # More than are offloaded before a call site is known to be quick.
  TIMES = 4

  def setup
    @folder = Dir.mktmpdir
    @path = File.join(@folder, "file")
    File.write(@path, "text")
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  def in_request
    in_scheduler do
      fiber do
        Thread.current[:mine] = "local"
        Thread.current.thread_variable_set(:mine, "variable")
        yield
      end
    end
  end

  def test_the_text_that_is_written
    in_request do
      told = Told.new(@path)
      texts = Array.new(TIMES) { File.write(@path, told) && File.read(@path) }
      texts += Array.new(TIMES) { File.binwrite(@path, told) && File.binread(@path) }
      assert_equal ["local variable"], texts.uniq
    end
  end

  def test_the_text_that_is_written_to_a_fifo
    fifo = File.join(@folder, "fifo")
    File.mkfifo(fifo)
    reader = Thread.new { File.read(fifo) }
    in_request { File.write(fifo, Told.new(@path)) }
    assert_equal "local variable", reader.value
  end

  def test_a_name
    states = []
    told = Told.new(@path)
    told.define_singleton_method(:to_path) { super().tap { states << state } }
    in_request do
      TIMES.times do
        assert_equal "text", File.read(told)
        assert_equal "text", File.open(told, &:read)
        assert_equal [4, true], [File.size(told), File.exist?(told)]
        assert_equal [@path], Array(File.rename(told, told) && @path)
        assert_equal %w[file], Dir.open(File.dirname(told), &:children)
      end
    end
    assert_equal ["local variable"], states.uniq
  end

  def test_a_text_that_takes_a_lock_which_the_caller_has
    lock = Monitor.new
    told = Told.new(@path)
    told.define_singleton_method(:to_s) { lock.synchronize { "locked" } }
    in_request { TIMES.times { lock.synchronize { File.write(@path, told) } } }
    assert_equal "locked", File.read(@path)
  end

  def test_a_command_is_run_in_the_fiber
    skip "Ruby #{RUBY_VERSION} runs none" unless RUBY_VERSION < "4.0"
    in_request do
      TIMES.times do
        assert_equal "out\n", without_warning { IO.read("| echo out; exit 6") }
        assert_equal 6, $?.exitstatus
      end
    end
  end

  def test_what_is_no_name_is_refused_by_ruby_itself
    in_request do
      assert_raises(TypeError) { File.size(nil) }
      assert_raises(TypeError) { File.read(Object.new) }
      assert_raises(ArgumentError) { File.write }
      assert_raises(ArgumentError) { File.write(@path) }
      File.open(@path) { |file| assert_equal [4, true], [File.size(file), File.exist?(file)] }
    end
  end

  private

  def without_warning
    before = $VERBOSE
    $VERBOSE = nil
    yield
  ensure
    $VERBOSE = before
  end
end
