# frozen_string_literal: true

# The threads behind NB.offload: made when work comes and none is free, at most `size`, each ended when it had none for a while. First come, first served. The
# number of calls that wait is the number of fibers that do. In a forked child it is empty, as new.

require "neverblock/verbs/offload/worker"

module NeverBlock
  module Offload
    # No thread can be made, and there is none. (Ruby 3.3 itself sleeps forever once it was refused a thread: Bug #20779.)
    class NoWorker < ThreadError
    end

    class Pool
      # @return [Integer] most threads at once
      attr_reader :size

      def initialize(size, idle_s:)
        @idle_s = idle_s
        @lock = Thread::Mutex.new
        @work_there = Thread::ConditionVariable.new
        empty
        self.size = size
      end

      def size=(size)
        raise ArgumentError, "the number of offload threads is an Integer of at least 1, not #{size.inspect}" unless size.is_a?(Integer) && size >= 1

        @lock.synchronize do
          @size = size
          @work_there.broadcast
        end
      end

      # Runs the job and parks the calling fiber until it has ended.
      # @param on_cancel [Symbol, #call] see NeverBlock.offload; `:end`: as `:interrupt`, and its end is waited
      #   for; what can be called is called, in the caller's fiber, to end a job that runs, whose end is then
      #   waited for
      def call(job, on_cancel)
        begin
          submit(job)
          outcome = yield_lock { job.wait }
        rescue Exception => e # rubocop:disable Lint/RescueException -- cancelled, by whatever
          raise abandon(job, on_cancel, e)
        end
        outcome.get(breaks: true)
      end

      # Has the job run, and does not wait for its end.
      # @raise [NoWorker] and the job is never run
      def submit(job)
        @lock.synchronize do
          empty unless @pid == Process.pid
          @jobs.size < @idle ? @work_there.signal : hire
          @jobs << job
        end
      end

      # @return [Hash{Symbol=>Integer}] threads, those of them that wait for work, calls that wait for a thread
      def figures
        @lock.synchronize { { threads: @workers.size, idle: @idle, waiting: @jobs.size } }
      end

      # --- for Worker ---

      # Waits for a job.
      # @return [Job, nil] nil: the thread is to end, and is not counted any more
      def take
        @lock.synchronize do
          job = next_job
          job ? start(job) : retire
          job
        end
      end

      # After this no Cancelled is raised into the worker any more.
      def ended(job)
        @lock.synchronize { job.state = :ended }
      end

      # A thread that was killed. Others do its work; where there are none and none can be made (at the process's end, say), the calls that wait for one fail.
      def lost(worker)
        @lock.synchronize do
          hire if @workers.delete(worker) && @jobs.size > @idle
        rescue NoWorker => e
          @jobs.shift.finish(Outcome.new(nil, NoWorker.new(e.message))) until @jobs.empty?
        end
      end

      private

      # A loop that is busy offers its worker Ruby's lock.
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

      # Without a thread to be had those that are there have to do; without any, the call fails.
      def hire
        return if @workers.size >= @size

        @workers[Worker.new(self)] = true
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

      # It may have been woken for a job that another has to do now.
      def retire
        @workers.delete(Thread.current)
        @work_there.signal unless @jobs.empty?
      end

      def start(job)
        job.state = :running
        job.thread = Thread.current
      end

      # @return [Exception] what the caller goes on with
      def abandon(job, on_cancel, error)
        begin
          running = @lock.synchronize { withdraw(job, on_cancel) }
          on_cancel.call if running && on_cancel.respond_to?(:call)
          job.wait if running && !%i[leave interrupt].include?(on_cancel)
        rescue Exception => e # rubocop:disable Lint/RescueException -- as above
          error = Outcome.weightier(error, e)
          retry
        end
        error
      end

      # @return [Boolean] whether it has begun
      def withdraw(job, on_cancel)
        @jobs.delete(job) if job.state == :waiting
        return false unless job.state == :running

        job.thread.raise(Cancelled) if %i[interrupt end].include?(on_cancel)
        true
      end
    end
  end
end
