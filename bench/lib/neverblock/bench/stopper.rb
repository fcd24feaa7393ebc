# frozen_string_literal: true

require "neverblock/verbs/deadline"

module NeverBlock
  module Bench
    # Stops a worker of a server from time to time (SIGSTOP, SIGCONT), like a machine that swaps, or
    # a hypervisor that takes the core away.
    class Stopper
      STOP_SECONDS = 1.0

      # @param tree [ProcessTree]
      # @param rng [Random] chooses the worker
      def initialize(tree, rng)
        @tree = tree
        @rng = rng
      end

      # Stops workers while the block runs, the first after one interval.
      # @param every [Numeric, nil] interval in seconds; nil: never
      # @yield meanwhile
      # @return [Array(Object, Array<QueueModel::Stop>)] the block's value; the stops, in seconds
      #   from the start
      def during(every)
        return [yield, []] unless every

        @stops = []
        start = Deadline.now
        @ending = Thread::Queue.new
        thread = Thread.new { stop_again_and_again(start, every) }
        [yield, @stops]
      ensure
        @ending&.close
        thread&.join
      end

      private

      def stop_again_and_again(start, every)
        at = start + every
        until wait_until(at)
          stop_one(start)
          at += every
        end
      end

      def stop_one(start)
        pid = @tree.leaves.sample(random: @rng) or return
        Process.kill(:STOP, pid)
        from = Deadline.now
        wait_until(from + STOP_SECONDS)
        @stops << QueueModel::Stop.new(from: from - start, length: Deadline.now - from)
      rescue Errno::ESRCH
        nil
      ensure
        go_on(pid) if pid
      end

      def go_on(pid)
        Process.kill(:CONT, pid)
      rescue Errno::ESRCH
        nil
      end

      # @return [Boolean] whether the thread must end
      def wait_until(time)
        sleep(0.01) until @ending.closed? || Deadline.now >= time
        @ending.closed?
      end
    end
  end
end
