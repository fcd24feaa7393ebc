# frozen_string_literal: true

# NB::FiberPool: runs blocks in at most so many fibers at once, the rest waiting their turn in a bounded queue.
#
#   pool = NB::FiberPool.new(20)
#   NB.run { urls.each { |url| pool.spawn { fetch(url) } } }

require "neverblock/errors"
require "neverblock/verbs/run"
require "neverblock/verbs/blocking_mode"
require "neverblock/legacy/fiber_locals"
require "neverblock/pool/loop_fiber_pool"

module NeverBlock
  # Fibers are made when they are needed and go from block to block while any are queued; with nothing to do they end, so that a pool that is done keeps
  # neither memory nor the loop. What one block leaves on its fiber (Thread.current[], Fiber[], Fiber#[], instance variables) never meets the next.
  #
  # A pool may be kept for the life of a process: each loop it is used on, in whatever thread, has its own +count+ fibers and its own queue.
  class FiberPool
    # Blocks that may wait in the queue: at about 1 KB each, what a burst needs and memory does not notice.
    QUEUE_MAX = 10_000

    # @return [Integer] most blocks that run at once on a loop
    attr_reader :count

    # @return [Integer] most blocks that wait in the queue
    attr_reader :queue_max

    # @param count [Integer] most fibers at once
    # @param queue [Integer] most blocks waiting; when there are more, #spawn waits
    # @param on_error [#call, nil] called in the block's fiber with each exception that a block or a callback raises; without it they are written to $stderr
    def initialize(count = 50, queue: QUEUE_MAX, on_error: nil)
      @count = positive("count", count)
      @queue_max = positive("queue", queue)
      @on_error = on_error
      @lock = Thread::Mutex.new
      @loop_pools = ObjectSpace::WeakMap.new
      @loop_pool = nil
    end

    # Runs the block in a fiber of the pool: at once, up to its first wait, when one is free; else as soon as one is, in the order of the calls. Parks the
    # caller while the queue is full, first come, first served.
    #
    # An exception that leaves the block is reported and costs nothing else (SystemExit, Interrupt and their like leave the loop). After the block, however
    # it ended, the procs in Fiber.current[:callbacks] are called, the last first, each even if another raises.
    #
    # To cancel a block, raise in its fiber: `fiber.raise(...)` with a fiber of #fibers; the pool stays whole. Fiber#kill (Ruby 3.3
    # and later) ends the block and its fiber, by whomever it is called: another fiber takes the place.
    # @param evented [Boolean] false: the block's waits keep the thread, as in NB.neverblock(false)
    # @return [self]
    # @raise [Error] where there is no loop; when the queue is full and the caller cannot park, because it is no fiber of the loop or because every fiber of
    #   the pool waits in #spawn
    # @raise [FiberError] when no fiber can be started, naming vm.max_map_count where that is why; the block is not run then
    def spawn(evented = true, &block)
      raise ArgumentError, "NB::FiberPool#spawn needs a block" unless block

      loop_pool.spawn(evented ? block : -> { NeverBlock.neverblock(false, &block) })
      self
    end

    # @return [Array<Fiber>] the pool's fibers on this thread's loop that run a block now
    def fibers
      here = Fiber.scheduler && @lock.synchronize { @loop_pools[Fiber.scheduler] }
      here ? here.fibers : []
    end

    # @return [Hash{Symbol => Integer}] on this thread's loop: blocks running, queued, and callers waiting for room in the queue
    def stats
      here = Fiber.scheduler && @lock.synchronize { @loop_pools[Fiber.scheduler] }
      here ? here.stats : { running: 0, queued: 0, waiting: 0 }
    end

    # @return [String]
    def inspect
      "#<NeverBlock::FiberPool of #{@count}>"
    end

    private

    def positive(name, value)
      return value if value.is_a?(Integer) && value.positive?

      raise ArgumentError, "NB::FiberPool: #{name} is a number of at least 1, not #{value.inspect}"
    end

    def loop_pool
      scheduler = Fiber.scheduler or raise Error, no_loop
      loop_pool = @loop_pool
      return loop_pool if loop_pool && loop_pool.scheduler.equal?(scheduler)

      @lock.synchronize { @loop_pool = @loop_pools[scheduler] ||= Pool::LoopFiberPool.new(scheduler, @count, @queue_max, method(:report)) }
    end

    def no_loop
      return "NB::FiberPool#spawn was called where no event loop runs: wrap it in NB.run { }" unless Run.event_machine?

      "NB::FiberPool#spawn was called inside EventMachine's reactor, which knows nothing of Ruby's fibers: put NB.run { } in the place of EM.run { }"
    end

    def report(error)
      return tell(error) unless @on_error

      begin
        @on_error.call(error)
      rescue StandardError, ScriptError => e
        tell(error)
        tell(e)
      end
    end

    # As Ruby reports a thread's. That nobody can be told must not cost the pool a fiber.
    def tell(error)
      $stderr.write("#{inspect}: a block ended with an exception:\n#{error.full_message}")
    rescue StandardError
      nil
    end
  end

  module Pool
    # Its name in 2008.
    FiberPool = NeverBlock::FiberPool
  end
end
