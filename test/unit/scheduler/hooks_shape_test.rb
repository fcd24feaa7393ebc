# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "zlib"

# Tests which hooks there are on this Ruby, and in which shape Ruby calls them. A hook that is there
# but not called, or called with arguments in another order, is a wait that blocks without a word.
class SchedulerHooksShapeTest < Minitest::Test
  include SchedulerHarness

  ALWAYS = %i[
    fiber kernel_sleep block unblock yield fiber_interrupt io_wait io_select io_read io_pread
    io_pwrite address_resolve process_wait timeout_after run close scheduler_close pin pinned?
  ].freeze

  # What methods were called before they got the words of the field.
  OLD_NAMES = { cuts: :preemptions, kept: :preemptions_missed, given: :lock_handoffs,
                lend: :yield_lock, end_slice: :end_timeslice, hold: :pin, held?: :pinned? }.freeze

  # Notes each hook's arguments on its way.
  class Recorder < NeverBlock::Scheduler
    attr_reader :calls

    def initialize
      super
      @calls = Hash.new { |calls, name| calls[name] = [] }
    end

    noted = %i[io_read io_write io_pread io_pwrite io_select io_wait blocking_operation_wait
               timeout_after]
    (noted & NeverBlock::Scheduler.instance_methods).each do |name|
      define_method(name) do |*arguments, &block|
        @calls[name] << arguments
        super(*arguments, &block)
      end
    end
  end

  def test_the_old_names_of_methods_are_aliases
    OLD_NAMES.each do |old, new|
      assert_equal NeverBlock::Scheduler.instance_method(new),
                   NeverBlock::Scheduler.instance_method(old), old
    end
  end

  def test_hooks_that_every_ruby_has
    assert_empty ALWAYS - NeverBlock::Scheduler.public_instance_methods
  end

  def test_hooks_that_do_harm_on_a_ruby_are_not_there
    assert_equal RUBY_VERSION >= "3.3.1", NeverBlock::Scheduler.method_defined?(:io_write)
    assert_equal RUBY_VERSION >= "3.4",
                 NeverBlock::Scheduler.method_defined?(:blocking_operation_wait)
    assert_equal RUBY_VERSION >= "4.0", NeverBlock::Scheduler.method_defined?(:io_close)
  end

  def test_read_and_write_are_called_with_a_length_and_from_3_2_on_an_offset
    r, w = IO.pipe
    calls = record do
      w.write("abc")
      w.close
      assert_equal "abc", r.read
    end
    calls[:io_read].each do |call|
      assert_equal [IO, IO::Buffer, Integer] + later(Integer), call.map(&:class)
    end
    refute_empty calls[:io_read]
    assert_equal RUBY_VERSION >= "3.3.1", !calls[:io_write].empty?
  end

  def test_pread_and_pwrite_of_a_buffer_are_called_in_this_rubys_order
    File.open("/proc/self/exe", "rb") do |file|
      buffer = IO::Buffer.new(10)
      calls = record { RUBY_VERSION < "3.2" ? buffer.pread(file, 3, 1) : buffer.pread(file, 1, 3) }
      expected = RUBY_VERSION < "3.2" ? [3, 1] : [1, 3, 0]
      assert_equal expected, calls[:io_pread].first.drop(2)
      assert_equal "ELF", buffer.get_string(0, 3)
    end
  end

  def test_pread_of_an_io_is_routed_from_3_3_on
    File.open("/proc/self/exe", "rb") do |file|
      calls = record { assert_equal "ELF", file.pread(3, 1) }
      assert_equal RUBY_VERSION >= "3.3" ? [[1, 0, 0]] : [],
                   calls[:io_pread].map { |call| call.drop(2) }
    end
  end

  def test_select_is_a_hook_from_3_2_on_and_reaches_the_scheduler_before
    r, w = IO.pipe
    w.write("x")
    calls = record { assert_equal [[r], [], []], IO.select([r], nil, nil, 5) }
    assert_equal [[[r], nil, nil, 5]], calls[:io_select]
  end

  def test_zlib_works_on_another_thread_from_3_4_on
    text = Random.new(1).bytes(200_000)
    packed = nil
    calls = record { packed = Zlib.deflate(text) }
    assert_equal text, Zlib.inflate(packed)
    assert_equal RUBY_VERSION >= "3.4", calls[:blocking_operation_wait].any?
  end

  def test_zlib_in_a_hold_keeps_the_thread
    text = Random.new(1).bytes(200_000)
    in_scheduler do
      turns = 0
      ended = false
      fiber { (turns += 1) && sleep(0) until ended }
      fiber do
        before = turns
        packed = Fiber.scheduler.pin { Zlib.deflate(text) }
        assert_equal before, turns
        assert_equal text, Zlib.inflate(packed)
      ensure
        ended = true
      end
    end
  end

  # What the worker works on lies on the stack of a fiber that is interrupted, and of one that is
  # dropped where it waits.
  def test_an_interrupted_or_dropped_offload_is_finished_first
    text = Random.new(1).bytes(2_000_000)
    10.times do
      thread = Thread.new do
        Thread.current.report_on_exception = false
        Fiber.set_scheduler(NeverBlock::Scheduler.new)
        interrupted = fiber_of_no_test { Zlib.deflate(text) }
        2.times { fiber_of_no_test { Zlib.deflate(text) } }
        Fiber.schedule do
          Fiber.scheduler.fiber_interrupt(interrupted, IndexError.new) if interrupted.alive?
        end
        raise IndexError
      end
      assert_raises(IndexError) { thread.join(SECONDS) }
      GC.start
    end
    assert_equal text, Zlib.inflate(Zlib.deflate(text))
  end

  private

  def fiber_of_no_test
    Fiber.schedule do
      yield
    rescue IndexError
      nil
    end
  end

  def later(*classes)
    RUBY_VERSION < "3.2" ? [] : classes
  end

  # @return [Hash{Symbol=>Array}] the arguments of each hook that the block, run in a fiber, came by
  def record
    recorder = Recorder.new
    error = nil
    Thread.new do
      Fiber.set_scheduler(recorder)
      Fiber.schedule do
        yield
      rescue Exception => e # rubocop:disable Lint/RescueException -- raised again below
        error = e
      end
    end.join(SECONDS)
    raise error if error

    recorder.calls
  end
end
