# frozen_string_literal: true

# NB.offload: work that would block the loop (a driver that waits in C, a slow system call, a long calculation in an extension that releases Ruby's lock) runs on
# one of a bounded number of worker threads, while the fiber parks.

require "neverblock/errors"
require "neverblock/verbs/deadline"
require "neverblock/verbs/blocking_mode"
require "neverblock/verbs/offload/job"
require "neverblock/verbs/outcome"
require "neverblock/verbs/offload/pool"

module NeverBlock
  # Calls the block on a worker thread and parks the fiber until it has ended. Called where parking is impossible (no scheduler, NB.neverblock(false),
  # a signal's handler, a finalizer), or inside offloaded work, it calls the block. Each call has fiber-locals and thread variables of its own, and the caller's Fiber storage
  # (Ruby 3.2 and later).
  # `next`, `break`, `throw` and exceptions do what they would without the thread; an exception's backtrace goes on with the caller's.
  # @param on_cancel [Symbol] what becomes of the work when the caller is cancelled, or its deadline is over, before it has ended. Work that has not begun is then
  #   never begun; for work that has,
  #   `:leave`: the caller goes on at once, the work ends by itself and its result is dropped;
  #   `:interrupt`: the caller goes on at once, and Cancelled is raised in the work, at whatever point it is, as Thread#raise does;
  #   `:wait`: the caller waits for its end all the same, and is cancelled then.
  # @return the block's value
  # @raise whatever the block raises; Error when the block ended its thread (Thread.exit)
  def self.offload(on_cancel: :leave, &block)
    raise ArgumentError, "NB.offload needs a block" unless block
    raise ArgumentError, "on_cancel: is :leave, :interrupt or :wait, not #{on_cancel.inspect}" unless Offload::ON_CANCEL.include?(on_cancel)
    return yield unless neverblocking? && !Offload.worker? && !Offload.interrupting?

    Offload.pool.call(Offload::Job.new(block), on_cancel)
  end

  # @return [Integer] most worker threads at once
  def self.offload_threads
    Offload.pool.size
  end

  # Threads that are too many end when their work has.
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

    # Signal handlers and finalizers, which Ruby runs between any two steps of a fiber, may neither take a lock nor park.
    # @return [Boolean] whether the caller is one
    def self.interrupting?
      Thread::Mutex.new.synchronize { false }
    rescue ThreadError # "can't be called from trap context"; nothing else tells
      true
    end

    @pool = Pool.new(THREADS, idle_s: IDLE_S)

    class << self
      # @return [Pool] the process's
      attr_reader :pool

      # As NB.offload, in the name of the caller's request: what is kept by thread or by request (Scheduler.root) is the same in there. So the caller never goes on
      # beside it: when it is cancelled, so is the work, whose end it waits for.
      def for_request(&block)
        pool.call(Job.new(block, root: Scheduler.root), :end)
      end

      # Whether this is a thread of a pool.
      def worker?
        Thread.current.is_a?(Worker)
      end
    end
  end
end
