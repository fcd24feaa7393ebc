# frozen_string_literal: true

# The threads behind NB.offload. One is made when work comes and none is free, up to `size` of them,
# and ends after some time without work. Work is done first come, first served. Each waiting fiber
# has one entry in the queue. A forked child begins with an empty pool.

require "neverblock/verbs/offload/worker"

module NeverBlock
  module Offload
    # There is no thread, and none can be made. (Ruby 3.3 itself sleeps forever after a thread was
    # refused: Bug #20779.)
    class NoWorker < ThreadError
    end

    class Pool
      # @return [Integer] most threads at once
      attr_reader :size

      # @param size [Integer] most threads at once
      # @param idle_s [Float] seconds a thread waits for work before it ends
      def initialize(size, idle_s:)
        @idle_s = idle_s
        @lock = Thread::Mutex.new
        @work_there = Thread::ConditionVariable.new
        empty
        self.size = size
      end

      def size=(size)
        unless size.is_a?(Integer) && size >= 1
          raise ArgumentError,
                "the number of offload threads is an Integer of at least 1, not #{size.inspect}",
                Backtrace.of_caller
        end

        @lock.synchronize do
          @size = size
          @work_there.broadcast
        end
      end

      # Runs the job and parks the calling fiber until it has ended.
      # @param on_cancel [Symbol, #call] as NeverBlock.offload has it. `:end`: as `:interrupt`, and
      #   the end of the job is waited for. A callable is called in the caller's fiber to end a
      #   running job, whose end is then waited for.
      def call(job, on_cancel)
        begin
          submit(job)
          outcome = yield_lock { job.wait }
        rescue Exception => e # rubocop:disable Lint/RescueException -- the caller was cancelled
          raise abandon(job, on_cancel, e)
        ensure
          abandon(job, on_cancel, nil) unless outcome || e # Fiber#kill: no rescue sees it
        end
        outcome.get(breaks: true)
      end

      # Queues the job and does not wait for its end.
      # @raise [NoWorker] the job is never run
      def submit(job)
        @lock.synchronize do
          empty unless @pid == Process.pid
          @jobs.size < @idle ? @work_there.signal : hire
          @jobs << job
        end
      end

      # @return [Hash{Symbol=>Integer}] threads, how many of them are idle, and how many calls wait
      #   for a thread
      def figures
        @lock.synchronize { { threads: @workers.size, idle: @idle, waiting: @jobs.size } }
      end

      # --- for Worker ---

      # Waits for a job.
      # @return [Job, nil] nil: the thread must end, and is not counted any more
      def take
        @lock.synchronize do
          job = next_job
          job ? start(job) : retire
          job
        end
      end

      # From now on no Cancelled is raised into the worker.
      def ended(job)
        @lock.synchronize { job.state = :ended }
      end

      # Called by a thread that was killed. Other threads do its work. When there are none and none
      # can be made, for instance at the end of the process, the waiting calls fail.
      def lost(worker)
        @lock.synchronize do
          hire if @workers.delete(worker) && @jobs.size > @idle
        rescue NoWorker => e
          @jobs.shift.finish(Outcome.new(nil, NoWorker.new(e.message))) until @jobs.empty?
        end
      end

      private

      # A busy loop yields Ruby's lock to its worker.
      def yield_lock(&block)
        scheduler = Fiber.scheduler
        scheduler.respond_to?(:yield_lock) ? scheduler.yield_lock(&block) : block.call
      end

      def empty
        @pid = Process.pid
        @jobs = []
        @workers = {}
        @idle = 0
      end

      # When no thread can be made, the existing ones do the work. Without any, the call fails.
      def hire
        return if @workers.size >= @size

        @workers[Worker.hire(self)] = true
      rescue ThreadError => e
        raise NoWorker, e.message if @workers.empty?
      end

      def next_job
        until_s = Deadline.now + @idle_s
        while @workers.size <= @size
          return @jobs.shift unless @jobs.empty?

          left_s = until_s - Deadline.now
          return if left_s <= 0

          wait_for_work(left_s)
        end
      end

      def wait_for_work(seconds)
        @idle += 1
        @work_there.wait(@lock, seconds)
      ensure
        @idle -= 1
      end

      # The thread may have been signalled for a job that another one must do now.
      def retire
        @workers.delete(Thread.current)
        @work_there.signal unless @jobs.empty?
      end

      def start(job)
        job.state = :running
        job.thread = Thread.current
      end

      # @param error [Exception, nil] nil: Fiber#kill ends the caller, and that it does whatever is
      #   raised meanwhile
      # @return [Exception, nil] what is raised in the caller
      def abandon(job, on_cancel, error)
        begin
          running = @lock.synchronize { withdraw(job, on_cancel) }
          on_cancel.call if running && on_cancel.respond_to?(:call)
          job.wait if running && !%i[leave interrupt].include?(on_cancel)
          ended = true
        rescue Exception => e # rubocop:disable Lint/RescueException -- as above
          error &&= Outcome.weightier(error, e)
          retry
        ensure
          # A fiber is killed once. One that Ruby itself kills can wait no more.
          abandon(job, on_cancel, nil) unless ended || error.nil?
        end
        error
      end

      # @return [Boolean] whether the job has begun
      def withdraw(job, on_cancel)
        @jobs.delete(job) if job.state == :waiting
        return false unless job.state == :running

        job.thread.raise(Cancelled) if %i[interrupt end].include?(on_cancel)
        true
      end
    end
  end
end
