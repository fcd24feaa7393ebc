# frozen_string_literal: true

require "net/http"
require "uri"

module NeverBlock
  module Bench
    # Arrivals that can be paused, unlike those of OpenLoop. While they run, intervals are
    # exponentially distributed. Latencies are not measured.
    class PacedRequests
      # Requests a second of one client. Each waits for the response, and seldom misses the next
      # time.
      RATE_OF_ONE = 25.0

      # @param url [String]
      # @param arrivals [Arrivals]
      # @param rng [Random]
      def initialize(url, arrivals, rng: Random.new)
        @uri = URI(url)
        @path = arrivals.path
        @rng = rng
        @lock = Mutex.new
        @change = ConditionVariable.new
        @goes = false
        @failed = 0
        count = (arrivals.rate / RATE_OF_ONE).ceil
        @mean_seconds = count / arrivals.rate.to_f
        @threads = Array.new(count) { Thread.new { ask } }
      end

      def go
        tell(true)
      end

      def pause
        tell(false)
      end

      # @return [Integer] number of refused or lost requests
      def stop
        @threads.each { |thread| thread.kill.join }
        @failed
      end

      private

      def tell(goes)
        @lock.synchronize do
          @goes = goes
          @change.broadcast
        end
      end

      # Waits until the next request is due and requests are not paused.
      def wait
        loop do
          @lock.synchronize { @change.wait(@lock) until @goes }
          sleep(-Math.log(1.0 - @rng.rand) * @mean_seconds)
          return if @goes
        end
      end

      def ask
        Net::HTTP.start(@uri.host, @uri.port, max_retries: 0) do |http|
          loop do
            wait
            count_failure unless http.get(@path).is_a?(Net::HTTPOK)
          end
        end
      rescue Timeout::Error, SystemCallError, IOError
        count_failure
        retry
      end

      def count_failure
        @lock.synchronize { @failed += 1 }
      end
    end
  end
end
