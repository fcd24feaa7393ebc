# frozen_string_literal: true

require_relative "../../support/timeslices"
require "socket"

# What a fiber gets that waits for an IO which another closes.
class SchedulerClosingTest < Minitest::Test
  include Timeslices

  class Own < StandardError; end

  MESSAGE = "stream closed in another thread"
  CLOSES = {
    "close" => ->(io, _) { io.close },
    "close_read" => ->(io, _) { io.close_read },
    "close_write" => ->(io, _) { io.close_write },
    "reopen" => ->(io, other) { io.reopen(other) },
    "close_of_an_io_that_does_not_own_its_descriptor" => lambda do |io, _|
      number = io.fileno
      io.autoclose = false
      io.close
      IO.for_fd(number).close
    end
  }.freeze

  # A method's end is one of a time slice or of a thread's turn too: others would change the table
  # of those who wait, and close the number, in the middle of the close.
  CLOSES.each do |name, close|
    define_method("test_#{name}_calls_no_method_of_the_error_it_makes") do
      errors = []
      called = calls_of_errors(->(io) { errors << waits(io) }, close)
      assert_equal [IOError, IOError], errors.map(&:class)
      assert_empty called
    end
  end

  def test_the_error_is_as_one_that_ruby_has_made
    error = nil
    calls_of_errors(->(io) { error = waits(io) }, CLOSES.fetch("close"))
    made = IOError.new(MESSAGE)
    assert_equal [made.message, made.inspect], [error.message, error.inspect]
    assert_equal made, error.dup.tap { |it| it.set_backtrace(nil) }
    assert_match(/: #{MESSAGE} \(IOError\)$/, error.full_message(highlight: false).lines.first)
    assert_includes error.backtrace.join, __FILE__
    assert_equal error, Marshal.load(Marshal.dump(error))
  end

  # --- in a shield ---

  # Nothing else would end it.
  def test_a_wait_in_a_mask_ends_in_the_mask
    steps = []
    one, other = UNIXSocket.pair
    in_timeslices do
      fiber do
        Thread.handle_interrupt(Object => :never) { steps << waits(one).class }
        sleep(0)
        steps << :over
      end
      fiber { one.close }
    end
    assert_equal [IOError, :over], steps
  ensure
    other&.close
  end

  def test_what_was_raised_into_the_wait_before_comes_after_the_shield
    steps = []
    one, other = UNIXSocket.pair
    in_scheduler do
      waits = fiber do
        Fiber.scheduler.shield { steps << waits(one).class << waits(other).class }
        sleep
      rescue Own => e
        steps << e.message
      end
      fiber do
        waits.raise(Own, "late")
        one.close
        sleep(0)
        other.close
      end
    end
    assert_equal [IOError, IOError, "late"], steps
  end

  private

  # @return the methods of IOError, and of exceptions, that are called by the fiber that closes the
  #   IO for which others wait
  def calls_of_errors(wait, close)
    called = []
    closer = nil
    traced = TracePoint.new(:call, :c_call) do |call|
      next unless Fiber.current.equal?(closer) # a close may park

      called << call.method_id if call.self.is_a?(Exception) || call.self == IOError
    end
    one, other, third = UNIXSocket.pair + [UNIXSocket.pair.first]
    one.close_write if close == CLOSES["close_read"]
    one.close_read if close == CLOSES["close_write"]
    in_scheduler do
      2.times { fiber { wait.call(one) } }
      fiber do
        closer = Fiber.current
        traced.enable(target_thread: Thread.current) { close.call(one, third) }
      end
    end
    called
  ensure
    [one, other, third].compact.each(&:close)
  end

  def waits(io)
    io.wait(IO::PRIORITY)
  rescue IOError => e
    e
  end
end
