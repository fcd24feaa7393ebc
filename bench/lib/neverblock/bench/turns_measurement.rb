# frozen_string_literal: true

module NeverBlock
  module Bench
    # What a server gets by turns with another one, a Server, that is started beside it: a Load each. In so many lives of both: a process has its luck, of several per cent,
    # with where its memory lies, and keeps it.
    Turns = Struct.new(:load, :other, :lives, keyword_init: true) do
      def initialize(lives: 1, **)
        super
      end

      # @return [Hash{Symbol => Object}] for the report
      def to_h
        { **load.to_h, other: other.name, lives: lives }
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
      # @param scenario [Scenario] its load is Turns; all lives together last twice its seconds
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat
      def take(process, scenario, settings)
        turns = scenario.load
        lives = settings.quick ? 1 : turns.lives
        seconds = scenario.seconds(settings).fdiv(lives)
        found = [live(process, turns, seconds, settings)]
        (lives - 1).times { found << @host.run(process.server, app: @app, path: @path) { |again| live(again, turns, seconds, settings) } }
        figures(*found.transpose)
      end

      private

      # @return [Array(Array<Wrk::Outcome>, Array<Float>)] of the process and the other; the CPU seconds they have spent
      def live(process, turns, seconds, settings)
        @host.run(turns.other, app: @app, path: @path) do |other|
          both = [process, other]
          both.each { |one| @warmer.run(turns.load, url: one.url, seconds: settings.warmup_seconds) }
          before = both.map { |one| one.tree.cpu_seconds }
          outcomes = @load_generator.run(turns.load, urls: both.map(&:url), seconds: seconds)
          spent = both.zip(before).map { |one, at| one.tree.cpu_seconds - at }
          ended = both.find { |one| !one.alive? }
          raise Error, "the server ended under load: #{ended.last_words}" if ended

          [outcomes, spent]
        end
      end

      # @param outcomes [Array<Array<Wrk::Outcome>>] of each life
      # @param spent [Array<Array<Float>>]
      def figures(outcomes, spent)
        raise Error, "no request was answered" if outcomes.flatten.map(&:requests).any?(&:zero?)

        errors = outcomes.flatten.map(&:errors).reduce { |all, some| all.merge(some) { |_, one, more| one + more } }
        requests = outcomes.transpose.map { |of_one| of_one.sum(&:requests) }
        own, other = spent.transpose.zip(requests).map { |seconds, count| (seconds.sum * 1e6 / count).round(3) }
        { "requests" => requests.first, "other_requests" => requests.last, "errors" => errors, "error_count" => errors.values.sum,
          "cpu_us_per_request" => own, "other_cpu_us_per_request" => other, "cpu_us_over_other" => (own - other).round(3), "cpu_ratio" => (own / other).round(4),
          "flags" => [*Flags.errors(errors)] }
      end
    end
  end
end
