# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require_relative "../../support/timeslices"
require "timeout"

# Limits in fibers that another has resumed, and that have resumed others themselves.
class SchedulerFiberLimitsTest < Minitest::Test
  include SchedulerHarness
  include Timeslices

  # How a block is called in a fiber within the running one.
  WITHIN = {
    none: ->(block) { block.call },
    fiber: ->(block) { Fiber.new(blocking: false) { block.call }.resume },
    enumerator: ->(block) { Enumerator.new { |out| out << block.call }.next }
  }.freeze

  # What is in the fiber with the limit, by the ways to it and from it.
  WAYS = WITHIN.keys.product(WITHIN.keys, WITHIN.keys)

  def within(*ways, &block)
    ways.reverse.reduce(block) { |inner, way| -> { WITHIN.fetch(way).call(inner) } }.call
  end

  # @return [Symbol] :late if the block was ended
  def ended
    Timeout.timeout(0.005) { yield && :kept }
  rescue Timeout::Error
    :late
  end

  def compute
    limit = Patience::Limit.new(5)
    nil until limit.over?
    true
  end

  # @return [Hash] ways that kept their time
  def kept(ways)
    seen = {}
    ways.each do |outer, *inner|
      fiber do
        sleep(0) && seen[[outer, *inner]] = within(outer) { ended { within(*inner) { yield } } }
      end
    end
    -> { seen.reject { |_, how| how == :late } }
  end

  def test_a_limit_ends_a_wait_of_a_fiber_within_the_one_that_has_set_it
    kept = nil
    in_scheduler { kept = kept(WAYS) { sleep(5) } }
    assert_empty kept.call
  end

  def test_it_ends_a_computation_there
    kept = nil
    in_timeslices { kept = kept(WAYS) { compute } }
    assert_empty kept.call
  end

  def test_it_ends_a_wait_that_keeps_the_thread
    kept = nil
    in_scheduler { kept = kept(WAYS) { Fiber.scheduler.pin { sleep(0.5) } } }
    assert_empty kept.call
  end

  # What was woken before its time was over gets what is raised in the next wait.
  def test_it_ends_the_next_wait_where_this_one_was_over
    kept = nil
    in_scheduler { kept = kept(WAYS) { 2000.times { sleep(0.001) } } }
    assert_empty kept.call
  end

  def test_of_limits_in_several_fibers_each_ends_its_own_block
    seen = []
    in_timeslices do
      fiber do
        outer = Class.new(StandardError)
        Timeout.timeout(0.05, outer) do
          within(:enumerator) do
            seen << ended { within(:fiber, :enumerator) { compute } } and within(:fiber) { compute }
          end
        end
      rescue outer
        seen << :outer
      end
    end
    assert_equal %i[late outer], seen
  end

  def test_it_ends_nothing_in_a_fiber_that_is_not_within
    seen = []
    in_scheduler do
      own = Fiber.new(blocking: false) { ended { Fiber.yield && sleep(0) } }
      fiber do
        own.resume
        sleep(0.02)
        seen << :slept
        within(:fiber) { sleep(0.001) }
        seen << own.resume(true)
      end
    end
    assert_equal %i[slept late], seen
  end

  def test_a_cancellation_ends_a_wait_there
    seen = []
    in_scheduler do
      cancellation = nil
      fiber do
        within(:fiber) do
          Fiber.scheduler.cancellable do |own|
            (cancellation = own) && within(:enumerator) { sleep }
          end
        end
      rescue IOError => e
        seen << e.class
      end
      fiber { cancellation.cancel(IOError) }
    end
    assert_equal [IOError], seen
  end
end
