# frozen_string_literal: true

# The half of a FiberPool that belongs to one loop: the fibers, the queue, and who waits for room in it.
#
# While anything is queued every place is taken, and while anybody waits the queue is full: who ends a block takes the next and lets one in, so that all go
# in the order in which they came.

require "neverblock/errors"
require "neverblock/verbs/run"
require "neverblock/pool/waiter"
require "neverblock/pool/fiber_state"

module NeverBlock
  module Pool
    class LoopFiberPool
      attr_reader :scheduler

      # @param report [#call] is given each exception
      def initialize(scheduler, count, queue_max, report)
        @scheduler = scheduler
        @count = count
        @queue_max = queue_max
        @report = report
        @lock = Thread::Mutex.new
        @taken = 0
        @jobs = []
        @waiters = []
        @fibers = {}.compare_by_identity
        @fibers_waiting = 0
      end

      # @param job [#call]
      def spawn(job)
        start = @lock.synchronize { admit(job) }
        start_fiber(job) if start
      end

      def fibers
        @fibers.keys
      end

      def stats
        @lock.synchronize { { running: @taken, queued: @jobs.size, waiting: @waiters.size } }
      end

      private

      # --- The caller's side; the lock is held ---

      # @return [Boolean] whether the caller has got a place and starts a fiber
      def admit(job)
        if @taken < @count
          @taken += 1
          return true
        end
        if @jobs.size < @queue_max
          @jobs << job
        else
          wait_for_room(Waiter.new(job))
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
        waiter.wait(@lock) until waiter.granted?
      ensure
        @fibers_waiting -= fibers
        @waiters.delete(waiter) unless waiter.granted?
      end

      def refuse_to_wait(own)
        full = "NB::FiberPool#spawn: the queue is full (#{@queue_max} blocks wait)"
        unless Fiber.current_scheduler
          raise Error, "#{full}, and the caller cannot wait for room, being no fiber of the loop: call it in a fiber, or make the pool with a larger `queue:`"
        end
        return unless own && @fibers_waiting + 1 >= @count

        raise Error, "#{full}, and all #{@count} fibers of the pool wait for room in it, so that none would ever come: " \
                     "spawn from outside the pool, or make it with a larger `queue:`"
      end

      # --- The fiber's side ---

      # What is raised into this fiber meanwhile leaves Fiber.schedule, and the block has not begun.
      # @param later [Boolean] the caller is about to end: give way first
      def start_fiber(job, later: false)
        settled = false
        Fiber.schedule do
          settled = true
          work(job, later)
        end
      rescue FiberError, NoMemoryError
        raise if settled

        settled = true
        raise unless give_place_back(later ? job : nil)
      ensure
        hand_over_place(later ? job : nil) unless settled
      end

      # No fiber can be made. Who asks for one is told; a job of the queue is taken by another fiber when it can.
      # @param job [#call, nil] of the queue
      # @return [Boolean] whether it will be
      def give_place_back(job)
        @lock.synchronize do
          @taken -= 1
          requeued = job && @taken.positive?
          @jobs.unshift(job) if requeued
          requeued
        end
      end

      def hand_over_place(job)
        @lock.synchronize { @jobs.unshift(job) } if job
        replace_fiber
      end

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

      # Between blocks a fiber is not among those that may be cancelled.
      def run(job, fiber)
        @fibers[fiber] = true
        perform(job, fiber)
      ensure
        @fibers.delete(fiber)
      end

      # Lets others run before the next block; what was raised into this fiber too late for the last one comes out here, and not there.
      def yield_to_others
        sleep(0) if @jobs.any?
      rescue StandardError => e
        @report.call(e)
      end

      # This fiber ends of something that ends fibers; another goes on in its place.
      def replace_fiber
        job = next_job
        start_fiber(job, later: true) if job
      rescue StandardError => e
        @report.call(e)
      end

      # Gives the place up when there is none. In a forked child the queue is the parent's.
      def next_job
        return unless own_loop?

        @lock.synchronize do
          job = @jobs.shift
          @taken -= 1 unless job
          admit_waiter if job && @waiters.any?
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

      # The last first, each whatever the others do; what they add is called too.
      def run_callbacks(callbacks)
        while (callback = callbacks.pop)
          guard(callback)
        end
      ensure
        run_callbacks(callbacks) if callbacks.any?
      end

      # SystemStackError is no StandardError, and yet this block's own affair.
      def guard(callable)
        callable.call
      rescue StandardError, ScriptError, SystemStackError => e
        @report.call(e)
      end
    end
  end
end
