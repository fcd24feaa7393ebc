# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "io/wait"
require "socket"
require "timeout"

# Tests random waits, cancels and closes for about three seconds: every fiber ends, every wait ends
# as it should. The seed is printed when it fails.
class SchedulerStressTest < Minitest::Test
  include SchedulerHarness

  ROUNDS = 40
  FIBERS = 60
  STEPS = 25
  STEP_NAMES = %i[nap give_way pop push lock pipe half_closed timed_out cancel_another nested
                  spawn_one thread].freeze

  class Cancelled < StandardError; end

  def test_random_waits_all_end
    seed = ENV.fetch("NB_STRESS_SEED") { Random.new_seed % 1_000_000 }.to_i
    random = Random.new(seed)
    ROUNDS.times { round(Random.new(random.rand(1 << 30))) }
  rescue Minitest::Assertion, StandardError
    warn "NB_STRESS_SEED=#{seed}"
    raise
  end

  private

  def round(random)
    @random = random
    @ended = @sent = @received = 0
    @queue = Queue.new
    @mutex = Mutex.new
    @parked = []
    outside = outside_thread(random.rand(1 << 30))
    in_scheduler { FIBERS.times { |i| @parked << fiber { live(i) } } }
    @queue.close
    outside.join(SECONDS) or flunk("the outside thread is stuck")
    assert_equal FIBERS, @ended
  end

  def live(index)
    STEPS.times do
      step(index)
    rescue Cancelled
      nil
    end
    @ended += 1
  end

  def step(_index)
    send(STEP_NAMES[@random.rand(STEP_NAMES.size)])
  end

  def nap = sleep(@random.rand * 0.002)

  def give_way = sleep(0)

  # The outside thread pushes without end, so that no pop waits for ever.
  def pop = @queue.pop

  def push = @queue << 1

  def lock
    @mutex.synchronize { sleep(@random.rand * 0.0002) }
  end

  def pipe
    r, w = IO.pipe
    writer = Fiber.schedule do
      sleep(0) if @random.rand(2).zero?
      w.write("abc")
    rescue Cancelled
      w.write("abc")
    end
    assert_equal "abc", r.read(3)
    refute_nil writer
  ensure
    [r, w].each(&:close)
  end

  def half_closed
    here, there = UNIXSocket.pair
    Fiber.schedule { sleep(0) and there.close }
    assert_nil here.read(1)
  ensure
    here.close
  end

  def timed_out
    r, w = IO.pipe
    assert_raises(Timeout::Error, Cancelled) do
      Timeout.timeout(@random.rand * 0.001) { @random.rand(2).zero? ? r.read(1) : sleep }
    end
  ensure
    [r, w].each(&:close)
  end

  def cancel_another
    other = @parked.sample(random: @random)
    Fiber.scheduler.fiber_interrupt(other, Cancelled.new) if other && !other.equal?(Fiber.current)
  end

  def nested
    assert_equal 3, Fiber.new { nap or 3 }.resume.then { 3 }
  end

  def spawn_one
    Fiber.schedule { nap }
  end

  def thread
    assert_equal 5, Thread.new { 5 }.value
  end

  def outside_thread(seed)
    random = Random.new(seed)
    Thread.new do
      until @queue.closed?
        @queue << 1 if @queue.size < 10
        sleep(random.rand * 0.0002)
      end
    rescue ClosedQueueError
      nil
    end
  end
end
