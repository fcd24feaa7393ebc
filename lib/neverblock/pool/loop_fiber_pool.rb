# frozen_string_literal: true

# The part of a FiberPool that belongs to one loop: its fibers, its queue of blocks, and the callers
# that wait for room in the queue.
#
# While a block is queued, every place is taken. While a caller waits, the queue is full. A fiber
# that ends a block takes the next one and admits one caller, so that all run in the order in which
# they came.

require "neverblock/errors"
require "neverblock/errors/backtrace"
require "neverblock/verbs/carry"
require "neverblock/verbs/run"
require "neverblock/pool/waiter"
require "neverblock/pool/fiber_state"

module NeverBlock
  module Pool
    class LoopFiberPool
      # @return [Fiber::Scheduler] of the loop
      attr_reader :scheduler

      # @param scheduler [Fiber::Scheduler] of the loop
      # @param count [Integer] most fibers at once
      # @param queue_max [Integer] most blocks in the queue
      # @param gauge [Gauge] is told how many blocks run and wait
      # @param report [#call] gets each exception of a block or a callback
      def initialize(scheduler, count, queue_max, gauge, report)
        @scheduler = scheduler
        @count = count
        @queue_max = queue_max
        @gauge = gauge
        @report = report
        @lock = Thread::Mutex.new
        @taken = 0
        @jobs = []
        @waiters = []
        @fibers = {}.compare_by_identity
        @fibers_waiting = 0
      end

      # Runs the job in a fiber, or queues it. Parks the caller while the queue is full.
      # @param job [#call]
      # @return [void]
      # @raise [Error, FiberError] as FiberPool#spawn
      def spawn(job)
        job = Carry.around(job)
        start = @lock.synchronize { admit(job) }
        start_fiber(job) if start
      end

      # @return [Array<Fiber>] that run a block now
      def fibers
        @fibers.keys
      end

      # @return [Hash{Symbol => Integer}] running and queued blocks, and waiting callers
      def stats
        @lock.synchronize { { running: @taken, queued: @jobs.size, waiting: @waiters.size } }
      end

      private

      def tell(event)
        @gauge.tell(event, @taken, @jobs.size + @waiters.size)
      end

      # --- The caller's side. The lock is held. ---

      # @return [Boolean] whether a place was taken for the job, so that the caller starts a fiber
      def admit(job)
        if @taken < @count
          @taken += 1
          tell(:acquired)
          return true
        end
        if @jobs.size < @queue_max
          @jobs << job
          tell(:waits)
        else
          wait_for_room(Waiter.new(job, @gauge))
        end
        false
      end

      def wait_for_room(waiter)
        own = @fibers.key?(Fiber.current)
        refuse_to_wait(own)
        queue_up(waiter, own ? 1 : 0)
      end

      def queue_up(waiter, fibers)
        @fibers_waiting += fibers
        @waiters << waiter
        tell(:waits)
        waiter.wait(@lock) until waiter.granted?
      ensure
        @fibers_waiting -= fibers
        @waiters.delete(waiter) unless waiter.granted?
      end

      def refuse_to_wait(own)
        full = "NB::FiberPool#spawn: the queue is full (#{@queue_max} blocks wait)"
        unless Fiber.current_scheduler
          raise Error, "#{full}, and the caller cannot wait for room, " \
                       "being no fiber of the loop: " \
                       "call it in a fiber, or make the pool with a larger `queue:`",
                Backtrace.of_caller
        end
        return unless own && @fibers_waiting + 1 >= @count

        raise Error, "#{full}, and all #{@count} fibers of the pool wait for room in it, " \
                     "so that none would ever come: " \
                     "spawn from outside the pool, or make it with a larger `queue:`",
              Backtrace.of_caller
      end

      # --- The fiber's side ---

      # An exception that is raised into this fiber meanwhile leaves Fiber.schedule. The block has
      # not begun then, and does not. Where a gem has code of its own in each new fiber, the fiber
      # may be preempted before the block begins.
      # @param later [Boolean] whether the new fiber first lets others run: the caller is ending
      def start_fiber(job, later: false)
        settled = abandoned = false
        Carry.schedule_bare do
          settled = true
          work(job, later) unless abandoned
        end
        settled = true
      rescue FiberError, NoMemoryError
        raise if settled

        settled = abandoned = true
        raise unless give_place_back(later ? job : nil)
      ensure
        unless settled
          abandoned = true
          hand_over_place(later ? job : nil)
        end
      end

      # Called when no fiber can be made. The caller of #spawn gets the error. A job of the queue
      # goes back to it, where there is another fiber that will take it.
      # @param job [#call, nil] nil: it does not come from the queue
      # @return [Boolean] whether the job was queued again
      def give_place_back(job)
        @lock.synchronize do
          @taken -= 1
          requeued = job && @taken.positive?
          @jobs.unshift(job) if requeued
          tell(:changed)
          requeued
        end
      end

      # Another fiber takes the place, and the job if there is one.
      def hand_over_place(job)
        @lock.synchronize { @jobs.unshift(job) } if job
        replace_fiber
      end

      # The body of a fiber: runs blocks until there is none. It ends early where its state cannot
      # be cleared.
      def work(job, later)
        fiber = Fiber.current
        has_place = true
        sleep(0) if later
        FiberState.clear_storage(fiber)
        while job
          run(job, fiber)
          yield_to_others
          job = next_job or has_place = false
          next if job.nil? || FiberState.clear(fiber)

          has_place = false
          break hand_over_place(job)
        end
      rescue Run::Stopped
        @jobs.clear
        raise
      ensure
        replace_fiber if has_place
      end

      # Between blocks a fiber is not listed, so that nobody cancels it.
      def run(job, fiber)
        @fibers[fiber] = true
        perform(job, fiber)
      ensure
        @fibers.delete(fiber)
      end

      # Lets others run before the next block. An exception that was raised too late for the last
      # block comes out here and not in the next one.
      def yield_to_others
        sleep(0) if @jobs.any?
      rescue StandardError => e
        @report.call(e)
      end

      # This fiber was ended by an exception or a kill. Another one takes its place.
      def replace_fiber
        job = next_job
        start_fiber(job, later: true) if job
      rescue StandardError => e
        @report.call(e)
      end

      # Gives the place up when there is no job. In a forked child the queue is the parent's.
      def next_job
        return unless own_loop?

        @lock.synchronize do
          job = @jobs.shift
          @taken -= 1 unless job
          admit_waiter if job && @waiters.any?
          tell(job ? :acquired : :changed)
          job
        end
      end

      def admit_waiter
        waiter = @waiters.shift
        @jobs << waiter.subject
        waiter.grant
      end

      def own_loop?
        Fiber.scheduler.equal?(@scheduler)
      end

      # --- One block ---

      def perform(job, fiber)
        callbacks = fiber[:callbacks] = []
        guard(job)
      ensure
        replaced = fiber[:callbacks]
        run_callbacks(replaced) if replaced.is_a?(Array) && !replaced.equal?(callbacks)
        run_callbacks(callbacks) if callbacks
      end

      # The last callback runs first. Each runs even if another raises, and so do those that they
      # add.
      def run_callbacks(callbacks)
        while (callback = callbacks.pop)
          guard(callback)
        end
      ensure
        run_callbacks(callbacks) if callbacks.any?
      end

      # SystemStackError is no StandardError, but it concerns only this block.
      def guard(callable)
        callable.call
      rescue StandardError, ScriptError, SystemStackError => e
        @report.call(e)
      end
    end
  end
end
