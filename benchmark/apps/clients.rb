# frozen_string_literal: true

# A client process of the claim `clients`. It repeats the same Net::HTTP request, many at once, in
# one of five ways.

require_relative "crowd"

# Each way takes a Crowd and asks until it has no more.
class Clients
  # One after the other.
  class Blocking
    def version
      "Ruby #{RUBY_VERSION}, timeout #{Timeout::VERSION}"
    end

    def call(crowd)
      crowd.slot
    end
  end

  # A thread for each request at once, which asks again and again: what is cheapest for threads.
  class Threads < Blocking
    def call(crowd)
      Array.new(crowd.size) { Thread.new { crowd.slot } }.each(&:join)
    end
  end

  # A new fiber for each request; a fiber that has its answer starts the next.
  class Fibers
    def initialize
      require "neverblock"
    end

    def version
      NeverBlock::VERSION
    end

    def call(crowd)
      again = lambda do
        crowd.ask
        Fiber.schedule(&again) if crowd.more?
      end
      NB.run { crowd.size.times { Fiber.schedule(&again) if crowd.more? } }
    end
  end

  # A fixed pool of fibers. A caller hands it one request after the other, and waits while it is
  # full.
  class Pool < Fibers
    def call(crowd)
      NB.run do
        pool = NB::FiberPool.new(crowd.size, queue: crowd.size)
        pool.spawn { crowd.ask } while crowd.more?
      end
    end
  end

  # An Async task for each request; a task that has its answer starts the next.
  class AsyncTasks
    def initialize
      require "async"
      require "io/stream/shim/timeout" unless IO.method_defined?(:timeout)
    end

    def version
      "#{Async::VERSION}, io-event #{IO::Event::VERSION} " \
        "(#{IO::Event::Selector.default.name.split("::").last})"
    end

    def call(crowd)
      running = 0
      ended = Thread::Queue.new
      Sync do |top|
        again = lambda do |_task = nil|
          crowd.ask
          crowd.more? ? top.async(&again) : (ended << true if (running -= 1).zero?)
        end
        running = crowd.size
        crowd.size.times { crowd.more? ? top.async(&again) : (running -= 1) }
        ended.pop
      end
    end
  end

  WAYS = { "blocking" => Blocking, "threads" => Threads, "fibers" => Fibers, "pool" => Pool,
           "async" => AsyncTasks }.freeze

  # The warm-up compiles the code with small, quick requests.
  WARMUP_AT_ONCE = 50

  def initialize(way)
    @way = WAYS.fetch(way).new
  end

  def version
    @way.version
  end

  def run(job)
    Crowd.new("#{job[:url]}/0", size: WARMUP_AT_ONCE,
              seconds: job[:warmup_seconds]).measure { |crowd| @way.call(crowd) }
    Crowd.new("#{job[:url]}#{job[:path]}",
              size: job[:connections], seconds: job[:seconds]).measure { |crowd| @way.call(crowd) }
  end
end

Measured.run { |way| Clients.new(way) }
