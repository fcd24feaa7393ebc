# frozen_string_literal: true

module NeverBlock
  module Bench
    # Samples the resident memory of a process tree while a block runs, and keeps the peak.
    class MemoryWatch
      # Short enough to catch a burst of 50 ms. Reading a few small files costs nothing beside it.
      INTERVAL_SECONDS = 0.05
      # Samples between two searches for processes. A search reads a file of every process on the
      # machine, and takes CPU time from the server.
      SAMPLES_A_TREE = 20

      # @param tree [ProcessTree] anything with pids and rss_bytes(pids)
      # @param interval [Float] seconds between two samples
      def initialize(tree, interval: INTERVAL_SECONDS)
        @tree = tree
        @interval = interval
      end

      # @yield during sampling; at least one sample is taken before and one after
      # @return [Array(Object, Integer)] the block's value, and the peak in bytes
      def during
        done = Queue.new
        sampler = Thread.new { sample_until(done) }
        value = yield
        done << true
        [value, sampler.value]
      ensure
        done << true
        sampler&.join
      end

      private

      def sample_until(done)
        pids = @tree.pids
        peak = @tree.rss_bytes(pids)
        (1..).each do |count|
          return peak unless done.empty?

          sleep(@interval)
          pids = @tree.pids if (count % SAMPLES_A_TREE).zero?
          peak = [peak, @tree.rss_bytes(pids)].max
        end
      end
    end
  end
end
