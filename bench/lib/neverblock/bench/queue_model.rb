# frozen_string_literal: true

module NeverBlock
  module Bench
    # The ideal for a cluster: one queue in front of several servers, each request taken by the
    # first free server. Arrivals are Poisson, service times exponential (M/M/c; Erlang 1917;
    # Kleinrock, Queueing Systems I, section 3.5). The queue can also be simulated with given
    # arrivals and service times, to exclude chance in a sample.
    class QueueModel
      # End of the bisection, in mean service times.
      PRECISION = 1e-9

      # A pause of a server, of `length` seconds from `from`.
      Stop = Struct.new(:from, :length, keyword_init: true) do
        def to
          from + length
        end
      end

      # @param servers [Integer]
      # @param load [Float] demanded share of the servers' time, under 1
      # @param service [Float] mean service time in seconds
      def initialize(servers:, load:, service:)
        unless load.positive? && load < 1
          raise Error, "a queue with a load of #{load} grows for ever"
        end

        @servers = servers
        @offered = load * servers
        @rate = 1.0 / service
        @drain = (servers * @rate) - (@offered * @rate)
      end

      # @return [Float] requests a second
      def arrivals
        @offered * @rate
      end

      # @return [Float] Erlang's C: the share of requests that find every server busy
      def waiting_share
        # Erlang's B, by its recursion.
        blocking = (1..@servers).reduce(1.0) do |found, count|
          (@offered * found) / (count + (@offered * found))
        end
        blocking / (1 - ((@offered / @servers) * (1 - blocking)))
      end

      # @param seconds [Float]
      # @return [Float] the share of requests with a longer waiting and service time together
      def longer_than(seconds)
        served = Math.exp(-@rate * seconds)
        (served * (1 - waiting_share)) + (waiting_share * waited_longer_than(seconds, served))
      end

      # @param share [Float] 0.99: p99
      # @return [Float] seconds
      def percentile(share)
        low = 0.0
        high = 1.0 / @rate
        high *= 2 while longer_than(high) > 1 - share
        while high - low > PRECISION / @rate
          middle = (low + high) / 2
          longer_than(middle) > 1 - share ? low = middle : high = middle
        end
        high
      end

      # Simulates the queue.
      # @param jobs [Array<Array(Float, Float)>] arrival and service in seconds, sorted by arrival
      # @param servers [Integer]
      # @param stops [Array<Stop>] each of one server, in turn
      # @return [Array<Float>] seconds from each arrival to its end
      def self.play(jobs, servers:, stops: [])
        free = Array.new(servers, 0.0)
        halts = halts_of(stops, servers)
        jobs.map do |arrival, service|
          starts = free.zip(halts).map { |at, stopped| first_start([arrival, at].max, stopped) }
          number = starts.each_index.min_by { |index| starts[index] }
          free[number] = ending(starts[number], service, halts[number])
          free[number] - arrival
        end
      end

      class << self
        private

        # @return [Array<Array<Stop>>] the stops of each server
        def halts_of(stops, servers)
          Array.new(servers) { |number| stops.select.with_index { |_, at| at % servers == number } }
        end

        def first_start(at, halts)
          halts.reduce(at) do |time, halt|
            time >= halt.from && time < halt.to ? halt.to : time
          end
        end

        # A stop during the service lengthens it.
        def ending(start, service, halts)
          halts.reduce(start + service) do |time, halt|
            halt.from >= start && halt.from < time ? time + halt.length : time
          end
        end
      end

      private

      # For a request that waits: the distribution of the sum of two exponential times.
      def waited_longer_than(seconds, served)
        return (1 + (@rate * seconds)) * served if ((@drain / @rate) - 1).abs < 1e-6

        ((@drain * served) - (@rate * Math.exp(-@drain * seconds))) / (@drain - @rate)
      end
    end
  end
end
