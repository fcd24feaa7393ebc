# frozen_string_literal: true

# NB.offload: work that would block the loop runs on one of a bounded number of worker threads while
# the fiber parks. Such work is a driver that waits in C, a slow system call, or a long calculation
# in an extension that releases Ruby's lock.

require "neverblock/errors"
require "neverblock/errors/backtrace"
require "neverblock/verbs/arguments"
require "neverblock/verbs/deadline"
require "neverblock/verbs/blocking_mode"
require "neverblock/verbs/offload/job"
require "neverblock/verbs/outcome"
require "neverblock/verbs/offload/pool"

module NeverBlock
  # Calls the block on a worker thread and parks the fiber until it has ended.
  #
  # It only calls the block where parking is impossible (no scheduler, NB.neverblock(false), a
  # signal handler, a finalizer) and inside offloaded work. Each call has its own fiber-locals and
  # thread variables, and the caller's Fiber storage (Ruby 3.2 and later). `next`, `break`, `throw`
  # and exceptions have the same effect as without the thread. The backtrace of an exception
  # continues with the caller's.
  #
  # When the caller is cancelled, or its deadline is over, work that has not begun never begins. For
  # work that has begun, on_cancel decides:
  #
  # - `:leave`: the caller goes on at once, and the result of the work is dropped;
  # - `:interrupt`: as `:leave`, and Cancelled is raised in the work, at any point, as Thread#raise
  #   does;
  # - `:wait`: the caller is cancelled after the work has ended.
  # @param on_cancel [Symbol] default `:leave`
  # @return the block's value
  # @raise whatever the block raises
  # @raise [Error] when the block has ended its thread (Thread.exit)
  # @raise [ArgumentError] without a block, with an argument, or for another on_cancel
  def self.offload(*given, on_cancel: :leave, **unknown, &block)
    Arguments.refuse_keywords("NB.offload", unknown, %w[on_cancel]) unless unknown.empty?
    Arguments.refuse("NB.offload", given, block) unless block && given.empty?
    unless Offload::ON_CANCEL.include?(on_cancel)
      raise ArgumentError, "on_cancel: is :leave, :interrupt or :wait, not #{on_cancel.inspect}",
            Backtrace.of_caller
    end
    return yield unless neverblocking? && !Offload.worker? && !Offload.interrupting?

    Offload.pool.call(Offload::Job.new(block), on_cancel)
  end

  # @return [Integer] most worker threads at once
  def self.offload_threads
    Offload.pool.size
  end

  # Surplus threads end when their work has.
  # @param count [Integer] at least 1; default 32
  # @raise [ArgumentError]
  def self.offload_threads=(count)
    Offload.pool.size = count
  end

  module Offload
    ON_CANCEL = %i[leave interrupt wait].freeze
    THREADS = 32
    # Seconds a thread waits for work before it ends.
    IDLE_S = 10.0

    # Signal handlers and finalizers run between any two steps of a fiber. They can neither take a
    # lock nor park.
    # @return [Boolean] whether the caller is one
    def self.interrupting?
      Thread::Mutex.new.synchronize { false }
    rescue ThreadError # "can't be called from trap context": there is no other way to ask
      true
    end

    @pool = Pool.new(THREADS, idle_s: IDLE_S)
    @unbounded = Pool.new(1 << 20, idle_s: IDLE_S)

    class << self
      # @return [Pool] the process's
      attr_reader :pool

      # @return [Pool] for work that may wait for other work: none waits for a thread
      attr_reader :unbounded

      # As NB.offload, on behalf of the caller's request: what is kept by thread or by request
      # (Scheduler.root) is the same inside. So the caller never runs beside it. When the caller is
      # cancelled, so is the work, and the caller waits for its end.
      def for_request(&block)
        pool.call(Job.new(block, root: Scheduler.root), :end)
      end

      # @return [Boolean] whether this is a thread of a pool
      def worker?
        Thread.current.is_a?(Worker)
      end
    end
  end
end
