# frozen_string_literal: true

module NeverBlock
  module Bench
    # Samples the resident memory of a process tree while a block runs and keeps the highest value.
    class MemoryWatch
      # Twenty samples a second: a burst of a thousand requests of 50 ms is seen, and reading a few small files costs nothing beside it.
      INTERVAL_SECONDS = 0.05
      # Processes are looked for once a second: that reads a file of every process on the machine, in the server's own time.
      SAMPLES_A_TREE = 20

      # @param tree [ProcessTree] anything that answers pids and rss_bytes(pids)
      # @param interval [Float] seconds between two samples
      def initialize(tree, interval: INTERVAL_SECONDS)
        @tree = tree
        @interval = interval
      end

      # @yield while sampling goes on; at least one sample is taken before and one after
      # @return [Array(Object, Integer)] what the block gave, and the peak in bytes
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
