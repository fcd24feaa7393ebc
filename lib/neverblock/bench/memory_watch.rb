# frozen_string_literal: true

module NeverBlock
  module Bench
    # Samples the resident memory of a process tree while a block runs and keeps the highest value.
    class MemoryWatch
      # Twenty samples a second: a burst of a thousand requests of 50 ms is seen, and reading a few small files costs nothing beside it.
      INTERVAL_SECONDS = 0.05

      # @param tree [ProcessTree] anything that answers rss_bytes
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
        peak = @tree.rss_bytes
        while done.empty?
          sleep(@interval)
          peak = [peak, @tree.rss_bytes].max
        end
        peak
      end
    end
  end
end
