# frozen_string_literal: true

require_relative "../../support/scheduler_harness"

# Queue#close and what else wakes all who wait for a queue: each wakes once, whoever closes it.
# (needed_test.rb has the crash that this is about.)
class QueueCloseTest < Minitest::Test
  include SchedulerHarness

  WAITERS = 1000

  {
    "Queue#close" => [-> { Queue.new }, :pop.to_proc, :close.to_proc, nil],
    "SizedQueue#close_with_poppers" => [
      -> { SizedQueue.new(1) }, :pop.to_proc, :close.to_proc, nil
    ],
    "SizedQueue#close_with_pushers" => [
      -> { SizedQueue.new(1) << 0 }, ->(queue) { queue << 1 }, :close.to_proc, ClosedQueueError
    ],
    "SizedQueue#max=" => [
      -> { SizedQueue.new(1) << 0 }, ->(queue) { queue << 1 },
      ->(queue) { queue.max = WAITERS + 1 }, nil
    ]
  }.each do |name, (make, wait, wake, error)|
    test = name.tr("#=", "_").downcase
    define_method("test_#{test}_in_a_fiber_wakes_each_waiter_once") do
      queue = make.call
      in_scheduler { parked(queue, wait) { |gate| when_full(gate) { wake.call(queue) } } }
      assert_woken(error)
    end

    define_method("test_#{test}_in_a_thread_wakes_each_waiter_once") do
      queue = make.call
      in_scheduler do
        parked(queue, wait) do |gate|
          when_full(gate) { Thread.new { wake.call(queue) }.join }
        end
      end
      assert_woken(error)
    end
  end

  def test_sized_queue_clear_lets_in_as_many_as_there_is_room_for
    queue = SizedQueue.new(10)
    10.times { queue << 0 }
    in_scheduler do
      parked(queue, ->(one) { one << 1 }) do |gate|
        when_full(gate) { (WAITERS / 10).times { queue.clear and sleep(0) } }
      end
    end
    assert_woken(nil)
  end

  def test_a_queue_is_closed_by_what_is_raised_at_the_thread_meanwhile_too
    queue = Queue.new
    thread = Thread.new do
      Thread.handle_interrupt(IndexError => :never) do
        Thread.stop
        Thread.handle_interrupt(IndexError => :on_blocking) { queue.close }
      end
    rescue IndexError
      :raised
    end
    Thread.pass until thread.stop?
    thread.raise(IndexError)
    thread.wakeup
    assert_equal [:raised, 0], [thread.join(SECONDS).value, thread.priority]
    assert_predicate queue, :closed?
  end

  def test_the_priority_of_who_closes_is_as_before
    before = Thread.current.priority
    Queue.new.close
    SizedQueue.new(1).tap { |queue| queue.max = 2 }.clear.close
    assert_equal before, Thread.current.priority
    assert_raises(ArgumentError) { SizedQueue.new(1).max = 0 }
    assert_equal before, Thread.current.priority
  end

  private

  def parked(queue, wait)
    @ended = []
    gate = Gate.new(WAITERS)
    WAITERS.times do
      fiber do
        gate.enter
        wait.call(queue)
        @ended << nil
      rescue ClosedQueueError => e
        @ended << e.class
      end
    end
    yield gate
  end

  def assert_woken(error)
    assert_equal [error] * WAITERS, @ended
  end
end
