# frozen_string_literal: true

module NeverBlock
  module Bench
    # The ideal that a cluster can be measured against: one queue in front of several servers, each request taken by the first that is free. Arrivals are
    # Poisson, service times exponential (M/M/c; Erlang 1917, Kleinrock, Queueing Systems I, section 3.5). And the same queue played through with given
    # arrivals and services, where chance in a sample is not to be charged to anybody.
    class QueueModel
      # Bisection down to a billionth of a mean service time.
      PRECISION = 1e-9

      # A server that does not go on from `from` for `length` seconds.
      Stop = Struct.new(:from, :length, keyword_init: true) do
        def to
          from + length
        end
      end

      # @param servers [Integer]
      # @param load [Float] share of the servers' time that is asked for, under 1
      # @param service [Float] mean, seconds
      def initialize(servers:, load:, service:)
        raise Error, "a queue with a load of #{load} has no end" unless load.positive? && load < 1

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
        blocking = (1..@servers).reduce(1.0) { |found, count| (@offered * found) / (count + (@offered * found)) } # Erlang's B, by its recursion
        blocking / (1 - ((@offered / @servers) * (1 - blocking)))
      end

      # @param seconds [Float]
      # @return [Float] the share of requests whose waiting and service together take longer
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

      # Plays the queue through.
      # @param jobs [Array<Array(Float, Float)>] arrival and service in seconds, in the order of arrival
      # @param servers [Integer]
      # @param stops [Array<Stop>] of one server each, in turn
      # @return [Array<Float>] how long each took from its arrival, in seconds
      def self.play(jobs, servers:, stops: [])
        free = Array.new(servers, 0.0)
        halts = Array.new(servers) { |number| stops.each_index.select { |index| index % servers == number }.map { |index| stops[index] } }
        jobs.map do |arrival, service|
          starts = free.each_index.map { |number| first_start([arrival, free[number]].max, halts[number]) }
          number = starts.each_index.min_by { |index| starts[index] }
          free[number] = ending(starts[number], service, halts[number])
          free[number] - arrival
        end
      end

      class << self
        private

        def first_start(at, halts)
          halts.reduce(at) { |time, halt| time >= halt.from && time < halt.to ? halt.to : time }
        end

        # A stop in the middle lengthens it.
        def ending(start, service, halts)
          halts.reduce(start + service) { |time, halt| halt.from >= start && halt.from < time ? time + halt.length : time }
        end
      end

      private

      # Of a request that waits: the sum of two exponential times.
      def waited_longer_than(seconds, served)
        return (1 + (@rate * seconds)) * served if ((@drain / @rate) - 1).abs < 1e-6

        ((@drain * served) - (@rate * Math.exp(-@drain * seconds))) / (@drain - @rate)
      end
    end
  end
end
