# frozen_string_literal: true

require_relative "verbs_case"
require "timeout"

# A fiber pool and a connection pool under random waits, exceptions, cancels and time limits.
# Whatever is accepted runs once, and nothing is left taken.
# NB_STRESS_SECONDS=60 makes it longer; the seed is in the message of a failure.
class StressTest < VerbsCase
  SPAWNERS = 10
  BLOCKS = 20

  def test_whatever_happens_each_accepted_block_runs_once_and_every_place_comes_back
    seconds = Float(ENV.fetch("NB_STRESS_SECONDS", "0.5"))
    ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    loop do
      seed = Random.new_seed
      round(Random.new(seed), "seed #{seed}")
      break if Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends
    end
  end

  private

  def round(random, message)
    @random = random
    @errors = 0
    @begun = Hash.new(0)
    @callbacks = Hash.new(0)
    @accepted = []
    @fibers = NB::FiberPool.new(
      1 + random.rand(6), queue: 1 + random.rand(6), on_error: ->(_) { @errors += 1 }
    )
    @connections = NB::Pool::FiberedConnectionPool.new(size: 1 + random.rand(3)) { connect }
    run_loop { scenario }
    check(message)
  end

  def check(message)
    assert_equal({ running: 0, queued: 0, waiting: 0 }, @fibers.stats, message)
    assert_equal [0, 0], @connections.stats.values_at(:held, :waiting), message
    assert_operator @connections.stats[:free], :<=, @connections.size, message
    assert_empty @accepted - @begun.keys, message
    assert_equal [1], @begun.values.uniq, message
    assert_equal @begun, @callbacks, message
  end

  def scenario
    left = SPAWNERS
    spawners = Array.new(SPAWNERS) do |i|
      Fiber.schedule do
        BLOCKS.times { |j| spawn([i, j]) }
      ensure
        left -= 1
      end
    end
    Fiber.schedule { cancel_somebody(spawners) until left.zero? && @fibers.fibers.empty? }
  end

  def spawn(name)
    @fibers.spawn(@random.rand(20).positive?) { block(name) }
    @accepted << name
    sleep(0) if @random.rand(3).zero?
  rescue Failure
    nil # cancelled while it waited for room
  end

  def block(name)
    @begun[name] += 1
    Fiber.current[:callbacks] << -> { @callbacks[name] += 1 }
    case @random.rand(8)
    when 0 then raise Failure
    when 1 then Timeout.timeout(0.0005) { hold }
    when 2 then Fiber.schedule { hold_quietly }
    when 3 then @connections.hold { hold }
    when 4 then Fiber.current.freeze
    else hold
    end
  end

  def hold
    @connections.hold(timeout: [nil, 0.0005].sample(random: @random)) do
      sleep(@random.rand / 5000)
      raise Failure if @random.rand(10).zero?
    end
    sleep(0)
  end

  def hold_quietly
    hold
  rescue Failure, NB::Error
    nil
  end

  def connect
    sleep(0)
    @random.rand(5).zero? ? raise(Failure) : Object.new
  end

  def cancel_somebody(spawners)
    sleep(@random.rand / 2000)
    groups = [@fibers.fibers, spawners.select(&:alive?)]
    victim = groups.sample(random: @random).sample(random: @random)
    victim&.raise(Failure)
  rescue FiberError
    nil # it has ended while it was chosen
  end
end
