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

    # One run of it, for a difference that is less than what a machine's speed changes by from one run to the next: both servers live at once, each has the load a tenth of a
    # second in turn, and what all turns cost them is compared.
    class TurnsMeasurement
      # @param app [String] rackup file
      # @param path [String] what the other server is asked until it answers
      # @param warmer [#run] Wrk
      # @param load_generator [#run] WrkTurns
      # @param host [#run] ServerProcess
      def initialize(app:, path: "/", warmer: Wrk.new, load_generator: WrkTurns.new, host: ServerProcess)
        @app = app
        @path = path
        @warmer = warmer
        @load_generator = load_generator
        @host = host
      end

      # @param process [ServerProcess] just started
      # @param scenario [Scenario] its load is Turns; it lasts twice its seconds
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat
      def take(process, scenario, settings)
        load = scenario.load.load
        @host.run(scenario.load.other, app: @app, path: @path) do |other|
          both = [process, other]
          both.each { |one| @warmer.run(load, url: one.url, seconds: settings.warmup_seconds) }
          before = both.map { |one| one.tree.cpu_seconds }
          outcomes = @load_generator.run(load, urls: both.map(&:url), seconds: scenario.seconds(settings))
          spent = both.zip(before).map { |one, at| one.tree.cpu_seconds - at }
          ended = both.find { |one| !one.alive? }
          raise Error, "the server ended under load: #{ended.last_words}" if ended

          figures(outcomes, spent)
        end
      end

      private

      def figures(outcomes, spent)
        raise Error, "no request was answered" if outcomes.map(&:requests).any?(&:zero?)

        errors = outcomes.map(&:errors).reduce { |all, some| all.merge(some) { |_, one, more| one + more } }
        own, other = outcomes.zip(spent).map { |outcome, seconds| (seconds * 1e6 / outcome.requests).round(3) }
        { "requests" => outcomes.first.requests, "other_requests" => outcomes.last.requests, "errors" => errors, "error_count" => errors.values.sum,
          "cpu_us_per_request" => own, "other_cpu_us_per_request" => other, "cpu_us_over_other" => (own - other).round(3), "flags" => [*Flags.errors(errors)] }
      end
    end
  end
end
