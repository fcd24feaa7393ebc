# frozen_string_literal: true

# NB::FiberPool: runs blocks in a bounded number of fibers. Further blocks wait in a bounded queue.
#
#   pool = NB::FiberPool.new(20)
#   NB.run { urls.each { |url| pool.spawn { fetch(url) } } }

require "neverblock/errors"
require "neverblock/errors/backtrace"
require "neverblock/verbs/arguments"
require "neverblock/verbs/run"
require "neverblock/verbs/blocking_mode"
require "neverblock/legacy/fiber_locals"
require "neverblock/pool/gauge"
require "neverblock/pool/loop_fiber_pool"

module NeverBlock
  # Fibers are made on demand, and each takes the next block from the queue. A fiber ends when the
  # queue is empty, so that an idle pool uses no memory and does not keep the loop running. State
  # that a block leaves on its fiber (Thread.current[], Fiber[], Fiber#[], instance variables) is
  # cleared before the next block.
  #
  # A pool may exist for the life of a process. Each loop that uses it, in whatever thread, has its
  # own +count+ fibers and its own queue.
  class FiberPool
    # Default of most blocks in the queue. Each takes about 1 KB.
    QUEUE_MAX = 10_000

    KEYWORDS = %w[queue on_error].freeze
    private_constant :KEYWORDS

    # @return [Integer] most blocks that run at once on a loop
    attr_reader :count

    # @return [Integer] most blocks that wait in the queue
    attr_reader :queue_max

    # @param count [Integer] most fibers at once on a loop
    # @param queue [Integer] most blocks in the queue; when it is full, #spawn waits
    # @param on_error [#call, nil] gets each exception that a block or a callback raises, in the
    #   block's fiber; nil: exceptions are written to $stderr
    # @raise [ArgumentError] when a number is no Integer of at least 1, or on_error has no #call
    def initialize(count = 50, queue: QUEUE_MAX, on_error: nil, **unknown)
      Arguments.refuse_keywords("NB::FiberPool.new", unknown, KEYWORDS) unless unknown.empty?
      Arguments.callable("NB::FiberPool", :on_error, on_error)
      @count = positive("count", count)
      @queue_max = positive("queue", queue)
      @on_error = on_error
      @place = Pool::Gauge.place(caller_locations(1, 1)&.first)
      @lock = Thread::Mutex.new
      @loop_pools = ObjectSpace::WeakMap.new
      @loop_pool = nil
    end

    # Runs the block in a fiber of the pool. When one is free it runs at once, up to its first wait;
    # otherwise it is queued, first come, first served. Parks the caller while the queue is full.
    #
    # An exception that leaves the block is reported and has no other effect. SystemExit, Interrupt
    # and other exceptions that are no StandardError leave the loop; the server logs those that do
    # not end a process. After the block, however it ended, the procs in Fiber.current[:callbacks]
    # are called. The last one is called first, and each is called even if another raises.
    #
    # To cancel a block, raise in its fiber: `fiber.raise(...)` with a fiber of #fibers. Fiber#kill
    # (Ruby 3.3 and later) ends the block and its fiber, and another fiber takes the place.
    # @param evented [Boolean] false: the block's waits block the thread, as in NB.neverblock(false)
    # @return [self]
    # @raise [ArgumentError] without a block
    # @raise [Error] where no loop runs
    # @raise [Error] when the queue is full and the caller cannot wait: it is no fiber of the loop,
    #   or every other fiber of the pool waits in #spawn
    # @raise [FiberError] when no fiber can be started; the message names vm.max_map_count where
    #   that is the cause. The block is not run then.
    def spawn(evented = true, &block)
      Arguments.refuse("NB::FiberPool#spawn") unless block

      loop_pool.spawn(evented ? block : -> { NeverBlock.neverblock(false, &block) })
      self
    end

    # @return [Array<Fiber>] the pool's fibers on this thread's loop that run a block now
    def fibers
      here = Fiber.scheduler && @lock.synchronize { @loop_pools[Fiber.scheduler] }
      here ? here.fibers : []
    end

    # @return [Hash{Symbol => Integer}] on this thread's loop: running blocks, queued blocks, and
    #   callers that wait for room in the queue
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

      raise ArgumentError, "NB::FiberPool: #{name} is a number of at least 1, " \
                           "not #{value.inspect}", Backtrace.of_caller
    end

    def loop_pool
      scheduler = Fiber.scheduler or raise Error, no_loop, Backtrace.of_caller
      loop_pool = @loop_pool
      return loop_pool if loop_pool && loop_pool.scheduler.equal?(scheduler)

      @lock.synchronize { @loop_pool = @loop_pools[scheduler] ||= new_loop_pool(scheduler) }
    end

    def new_loop_pool(scheduler)
      gauge = Pool::Gauge.new(:fibers, @place, @count)
      Pool::LoopFiberPool.new(scheduler, @count, @queue_max, gauge, method(:report))
    end

    def no_loop
      unless Run.event_machine?
        return "NB::FiberPool#spawn was called where no event loop runs: wrap it in NB.run { }"
      end

      "NB::FiberPool#spawn was called inside EventMachine's reactor, " \
        "which knows nothing of Ruby's fibers: put NB.run { } in the place of EM.run { }"
    end

    def report(error)
      Backtrace.trim(error)
      return tell(error) unless @on_error

      begin
        @on_error.call(error)
      rescue StandardError, ScriptError => e
        tell(error)
        tell(Backtrace.trim(e))
      end
    end

    # In the form in which Ruby reports a thread's exception. A $stderr that fails must not end the
    # fiber.
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
