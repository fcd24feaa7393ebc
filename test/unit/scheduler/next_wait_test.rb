# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock"

# What is said of a wait has no effect on it, and none where nobody looks
# (test/integration/fibers_test.rb has where somebody does).
class NextWaitTest < Minitest::Test
  Scheduler = NeverBlock::Scheduler

  def test_nothing_happens_without_a_scheduler_or_a_server
    assert_nil Scheduler.next_wait(:pool, "tickets")
    NB.run do
      assert_nil Scheduler.next_wait(:pool, "tickets")
      assert_nil Scheduler.next_wait(:coffee)
      sleep(0)
    end
  end

  def test_a_kind_is_a_symbol
    assert_raises(TypeError) { Scheduler.next_wait("pool") }
    assert_raises(ArgumentError) { Scheduler.next_wait }
    NB.run { assert_raises(TypeError) { Scheduler.next_wait(Object.new) } }
  end
end
