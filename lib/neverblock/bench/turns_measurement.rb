# frozen_string_literal: true

module NeverBlock
  module Bench
    # What a server gets by turns with another one, a Server, that is started beside it: a Load each.
    Turns = Struct.new(:load, :other, keyword_init: true) do
      # @return [Hash{Symbol => Object}] for the report
      def to_h
        { **load.to_h, other: other.name }
      end
    end

    # One run of it, for a difference that is less than what a machine's speed changes by from one run to the next: both servers live at once, each gets a second of
    # the load in turn, and the seconds are compared in pairs.
    class TurnsMeasurement
      TURN_SECONDS = 1

      # @param app [String] rackup file
      # @param path [String] what the other server is asked until it answers
      # @param load_generator [Wrk]
      # @param host [#run] ServerProcess
      def initialize(app:, path: "/", load_generator: Wrk.new, host: ServerProcess)
        @app = app
        @path = path
        @load_generator = load_generator
        @host = host
      end

      # @param process [ServerProcess] just started
      # @param scenario [Scenario] its load is Turns; it lasts twice its seconds
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat: cpu_us_over_other is the median of the differences
      def take(process, scenario, settings)
        load = scenario.load.load
        @host.run(scenario.load.other, app: @app, path: @path) do |other|
          both = [process, other]
          both.each { |one| @load_generator.run(load, url: one.url, seconds: settings.warmup_seconds) }
          turns = Array.new([scenario.seconds(settings) / TURN_SECONDS, 1].max.to_i) { |number| take_turns(both, number, load) }
          ended = both.find { |one| !one.alive? }
          raise Error, "the server ended under load: #{ended.last_words}" if ended

          figures(turns)
        end
      end

      private

      # Who was last in one turn is first in the next.
      # @return [Array<Array>] CPU microseconds a request, and the load's Outcome, of the process and of the other
      def take_turns(both, number, load)
        taken = both.rotate(number).to_h { |one| [one, take_turn(one, load)] }
        both.map { |one| taken.fetch(one) }
      end

      def take_turn(process, load)
        before = process.tree.cpu_seconds
        outcome = @load_generator.run(load, url: process.url, seconds: TURN_SECONDS)
        raise Error, "no request was answered" if outcome.requests.zero?

        [(process.tree.cpu_seconds - before) * 1e6 / outcome.requests, outcome]
      end

      def figures(turns)
        own, other = turns.transpose
        outcomes = (own + other).map(&:last)
        errors = outcomes.map(&:errors).reduce { |all, some| all.merge(some) { |_, one, more| one + more } }
        { "turns" => turns.size, "requests" => own.sum { |_, outcome| outcome.requests }, "errors" => errors, "error_count" => errors.values.sum,
          "cpu_us_per_request" => median(own.map(&:first)), "other_cpu_us_per_request" => median(other.map(&:first)),
          "cpu_us_over_other" => median(turns.map { |one, beside| one.first - beside.first }),
          "flags" => [*Flags.errors(errors)] }
      end

      def median(values)
        Summary.of(values).median.round(3)
      end
    end
  end
end
