# frozen_string_literal: true

require_relative "../../support/scheduler_harness"

# Fiber#transfer in a fiber of the loop. Each program is run on a plain thread as well, where the
# first fiber of the thread is the one that transfers.
class SchedulerTransferTest < Minitest::Test
  include SchedulerHarness

  PROGRAMS = {
    "to_one_that_ends" => -> { Fiber.new { |value| sleep(0.001) && (value + 1) }.transfer(1) },
    "to_one_that_ends_with_nil" => -> { [Fiber.new { nil }.transfer, :after] },
    "to_one_that_raises" => lambda do
      Fiber.new { sleep(0.001) && raise(KeyError, "its own") }.transfer
    rescue KeyError => e
      e.message
    end,
    "to_and_fro" => lambda do
      first = Fiber.current
      values = [1]
      second = Fiber.new { values << 2 and sleep(0.001) and first.transfer(3) }
      values << second.transfer
    end,
    "from_one_to_the_next" => lambda do
      third = Fiber.new { sleep(0.001) && :third }
      second = Fiber.new { third.transfer and :never }
      second.transfer
    end,
    "twice" => -> { Array.new(2) { |index| Fiber.new { sleep(0.001) && index }.transfer } }
  }.freeze

  PROGRAMS.each do |name, program|
    define_method("test_#{name}_gives_what_it_gives_on_a_thread") do
      wanted = Thread.new(&program).value
      got = []
      in_scheduler { 3.times { fiber { got << program.call } } }
      assert_equal [wanted] * 3, got
    end
  end

  def test_what_ends_the_process_ends_it_from_there_too
    status = nil
    thread = Thread.new do
      Thread.current.report_on_exception = false
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      Fiber.schedule { Fiber.new { exit(7) }.transfer }
      Fiber.scheduler.run
    rescue SystemExit => e
      status = e.status
    end
    assert thread.join(SECONDS)
    assert_equal 7, status
  end
end
