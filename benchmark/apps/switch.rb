# frozen_string_literal: true

# A program of the claim `switch`. It repeats one operation under one Fiber::Scheduler, in batches,
# until the time is over.

require "socket"
require_relative "measured"

# What makes a scheduler, and its version.
module Schedulers
  class << self
    def neverblock
      require "neverblock"
      [NeverBlock::VERSION, -> { NeverBlock::Scheduler.new }]
    end

    def async
      require "async"
      require "io/stream/shim/timeout" unless IO.method_defined?(:timeout)
      [Async::VERSION, -> { Async::Scheduler.new }, selector]
    end

    def io_event
      require_relative "io_event_scheduler"
      [IO::Event::VERSION, -> { IOEventScheduler.new }, selector]
    end

    private

    # IO_EVENT_SELECTOR names the selector. io-event has only those whose libraries were there when
    # it was built.
    def selector
      IO::Event::Selector.default
    rescue NameError
      abort "io-event was built without #{ENV.fetch("IO_EVENT_SELECTOR")}: install liburing-dev, " \
            "remove vendor/bench/async, and run again"
    end
  end
end

# Each task runs a batch and says how many operations that was.
class Tasks
  SLEEP_SECONDS_MAX = 0.002
  # A power of two.
  LENGTHS = 4096

  # @param scheduler [Proc] makes one
  # @param fibers [Integer]
  def initialize(scheduler, fibers)
    @scheduler = scheduler
    @fibers = fibers
  end

  # Ruby's own part: resume and Fiber.yield, without a scheduler.
  def resume(share)
    count = (1_000_000 * share).to_i
    fiber = Fiber.new { loop { Fiber.yield } }
    count.times { fiber.resume }
    count
  end

  # sleep(0): to the loop, and back when the others have had their turn.
  def yield(share)
    each_fiber(400_000 * share) { |_, times| times.times { sleep(0) } }
  end

  # A million sleeps of 0 to 2 ms, drawn beforehand.
  def timer(share)
    random = Random.new(1)
    lengths = Array.new(LENGTHS) { random.rand * SLEEP_SECONDS_MAX }
    each_fiber(1_000_000 * share) do |index, times|
      times.times { |turn| sleep(lengths[((index * 37) + turn) & (LENGTHS - 1)]) }
    end
  end

  # Two fibers send each other a byte over a pair of sockets: a wake for each byte.
  def io(share)
    ends = Array.new(@fibers / 2) { UNIXSocket.pair }.flatten
    each_fiber(200_000 * share) do |index, times|
      ends[index].write("x") if index.even?
      times.times do |turn|
        ends[index].readpartial(1) && (index.odd? || turn < times - 1) && ends[index].write("x")
      end
    end
  ensure
    ends&.each(&:close)
  end

  # A thread answers through a queue: the push from the other thread wakes the fiber.
  def thread(share)
    asked = Thread::Queue.new
    thread = Thread.new { while (answers = asked.pop) do answers.push(true) end }
    each_fiber(20_000 * share) do |_, times|
      answers = Thread::Queue.new
      times.times { asked.push(answers) && answers.pop }
    end
  ensure
    asked.close
    thread.join
  end

  # A name that is asked again and again.
  def dns(share)
    each_fiber(10_000 * share) do |_, times|
      times.times { Addrinfo.getaddrinfo("localhost", 80, nil, :STREAM) }
    end
  end

  private

  # Shares the operations among the fibers of a fresh scheduler, and returns when all have ended.
  # @yield [Integer, Integer] which fiber it is, and its number of operations
  # @return [Integer] operations
  def each_fiber(operations, &work)
    times = [(operations / @fibers).to_i, 1].max
    errors = []
    done = 0
    Thread.new do
      Fiber.set_scheduler(@scheduler.call)
      @fibers.times do |index|
        Fiber.schedule { reporting(errors) { work.call(index, times) && done += times } }
      end
    end.join
    abort "#{times * @fibers - done} of #{times * @fibers} operations were not done; " \
          "#{errors.first}" if done < times * @fibers
    done
  end

  # Async only logs what ends a task, and goes on.
  def reporting(errors)
    yield
  rescue StandardError => e
    errors << "#{e.class}: #{e.message}"
    raise
  end
end

# The scheduler and its task.
class Switch
  NAMES = %w[resume yield timer io thread dns].freeze
  WARMUP_SHARE = 0.05

  attr_reader :version

  def initialize(way)
    @version, @scheduler, selector = Schedulers.public_send(way)
    @version = "#{@version} (#{selector.name.split("::").last})" if selector
  end

  def run(job)
    task = NAMES.find { |name| name == job[:task] } || abort("no task is called #{job[:task]}")
    tasks = Tasks.new(@scheduler, job[:fibers])
    tasks.public_send(task, WARMUP_SHARE)
    count = 0
    figures = Measured.around do
      stop = Measured.now + job[:seconds]
      count += tasks.public_send(task, 1)
      count += tasks.public_send(task, 1) while Measured.now < stop
    end
    figures.merge(count: count, errors: {})
  end
end

Measured.run { |way| Switch.new(way) }
