# frozen_string_literal: true

require_relative "../../support/scheduler_harness"

# A Mutex, a Queue or a ConditionVariable that wakes one fiber has woken no other. When an exception
# was raised into that fiber's wait just before, the wake comes first. The exception comes in the
# fiber's next wait.
class SchedulerLostWakesTest < Minitest::Test
  include SchedulerHarness

  def test_a_mutex_handed_to_a_fiber_that_was_raised_into_goes_on_to_the_next
    mutex = Mutex.new
    order = []
    first = nil
    in_scheduler do
      fiber { mutex.synchronize { sleep(0) && first.raise("told") } }
      first = fiber do
        mutex.synchronize { order << :first } and
          order << assert_raises(RuntimeError) { sleep }.message
      end
      fiber { mutex.synchronize { order << :second } }
    end
    assert_equal [:first, "told", :second], order
  end

  def test_what_is_pushed_for_a_fiber_that_was_raised_into_is_popped_by_it
    queue = Queue.new
    order = []
    in_scheduler do
      popper = fiber { order << queue.pop << assert_raises(RuntimeError) { sleep }.message }
      fiber { popper.raise("told") || queue << :pushed }
    end
    assert_equal [:pushed, "told"], order
  end

  def test_a_signal_for_a_fiber_that_was_raised_into_is_had_by_it
    mutex = Mutex.new
    condition = ConditionVariable.new
    order = []
    in_scheduler do
      waiter = fiber do
        mutex.synchronize { condition.wait(mutex) && order << :signalled } and
          order << assert_raises(RuntimeError) { sleep }.message
      end
      fiber { waiter.raise("told") || condition.signal }
    end
    assert_equal [:signalled, "told"], order
  end

  # A thread may signal between ConditionVariable#wait's entry into the list and its sleep. Here the
  # signal comes exactly there.
  def test_a_signal_that_comes_before_the_sleep_of_a_wait_ends_it
    condition = ConditionVariable.new
    signalling = Class.new(Mutex) do
      define_method(:sleep) { |*limit| condition.signal && super(*limit) }
    end
    order = []
    in_scheduler do
      mutex = signalling.new
      fiber { mutex.synchronize { condition.wait(mutex) } and order << :woken }
      fiber { sleep(0.001) and order << :slept }
    end
    assert_equal %i[woken slept], order
  end

  def test_a_signal_that_was_kept_is_not_kept_for_a_later_sleep
    mutex = Mutex.new
    condition = ConditionVariable.new
    order = []
    in_scheduler do
      waiter = fiber do
        mutex.synchronize { condition.wait(mutex) } and
          order << :woken and sleep and order << :slept
      end
      fiber do
        3.times { condition.broadcast } and order << :signalled and sleep(0.002) and
          Fiber.scheduler.unblock(:test, waiter) and order << :unblocked
      end
    end
    assert_equal %i[signalled woken slept], order.first(3) - [:unblocked]
  end

  # Bug #19480: without binding/hooks/mutex.c Ruby 3.1 dies here of "[BUG] invalid keeping_mutexes"
  # within a second.
  def test_a_mutex_shared_by_loops_and_threads_stays_whole
    script = <<~RUBY
      require "neverblock/scheduler"
      mutexes = Array.new(8) { Mutex.new }
      held = Array.new(8, 0)
      over = false
      use = lambda do |pause|
        until over
          i = rand(8)
          mutexes[i].synchronize do
            held[i] += 1
            pause.call
            abort("two inside") if held[i] != 1
            held[i] -= 1
          end
        end
      end
      loops = Array.new(2) do
        Thread.new do
          Fiber.set_scheduler(NeverBlock::Scheduler.new)
          100.times { Fiber.schedule { use.call(-> { sleep(rand * 0.0002) }) } }
        end
      end
      threads = Array.new(2) { Thread.new { use.call(-> { Thread.pass }) } }
      sleep(1.5)
      over = true
      puts (loops + threads).all? { |thread| thread.join(#{SECONDS / 2}) }
    RUBY
    command = ["timeout", "-s", "KILL", SECONDS.to_s, RbConfig.ruby, "-W0",
               *$LOAD_PATH.map { |path| "-I#{path}" }, "-e", script]
    assert_equal "true\n", IO.popen(command, err: %i[child out], &:read)
  end

  # What a timeout has to raise ends with its block.
  def test_a_timeout_that_came_before_the_wake_is_raised_in_the_next_wait_of_its_block_only
    queue = Queue.new
    order = []
    in_scheduler do
      scheduler = Fiber.scheduler
      fiber do
        order << scheduler.timeout_after(0.001, IndexError) { queue.pop } &&
          sleep(0.001) && order << :on
      end
      fiber do
        order << assert_raises(IndexError) {
          scheduler.timeout_after(0.001, IndexError) { queue.pop && sleep }
        }.class
      end
      fiber { Thread.new { sleep(0.01) }.join && nil }
      fiber { busy(0.005) || 2.times { queue << :popped } }
    end
    assert_includes order, :on
    assert_includes order, IndexError
  end

  private

  # Both alarms are due when this returns, and their fibers have not run.
  def busy(seconds)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
  end
end
