# frozen_string_literal: true

module NeverBlock
  module Bench
    # A Load for a server and, in turns, for another Server that runs beside it; repeated with fresh
    # processes `lives` times. The memory layout of a process changes its speed by several per cent
    # for its whole life.
    Turns = Struct.new(:load, :other, :lives, keyword_init: true) do
      def initialize(lives: 1, **)
        super
      end

      # @return [Hash{Symbol => Object}] for the report
      def to_h
        { **load.to_h, other: other.name, lives: lives }
      end
    end

    # One run of it, for a difference smaller than the changes of the machine's speed between runs.
    # Both servers run at once, each gets the load in turns of a tenth of a second, and their costs
    # of all turns are compared.
    class TurnsMeasurement
      # @param app [String] rackup file
      # @param path [String] requested until the other server answers
      # @param warmer [#run] Wrk
      # @param load_generator [#run] WrkTurns
      # @param host [#run] ServerProcess
      def initialize(app:, path: "/", warmer: Wrk.new, load_generator: WrkTurns.new,
                     host: ServerProcess)
        @app = app
        @path = path
        @warmer = warmer
        @load_generator = load_generator
        @host = host
      end

      # @param process [ServerProcess] just started
      # @param scenario [Scenario] its load is Turns; all lives together take twice its seconds
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat
      def take(process, scenario, settings)
        turns = scenario.load
        lives = settings.quick ? 1 : turns.lives
        seconds = scenario.seconds(settings).fdiv(lives)
        found = [live(process, turns, seconds, settings)]
        (lives - 1).times do
          found << @host.run(process.server, app: @app, path: @path) do |again|
            live(again, turns, seconds, settings)
          end
        end
        figures(*found.transpose)
      end

      private

      # @return [Array(Array<Wrk::Outcome>, Array<Float>)] outcomes of the process and the other;
      #   their CPU seconds
      def live(process, turns, seconds, settings)
        @host.run(turns.other, app: @app, path: @path) do |other|
          both = [process, other]
          both.each do |one|
            @warmer.run(turns.load, url: one.url, seconds: settings.warmup_seconds)
          end
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

        requests = outcomes.transpose.map { |of_one| of_one.sum(&:requests) }
        own, other = spent.transpose.zip(requests).map do |seconds, count|
          (seconds.sum * 1e6 / count).round(3)
        end
        counted(requests, errors_of(outcomes)).merge(
          "cpu_us_per_request" => own, "other_cpu_us_per_request" => other,
          "cpu_us_over_other" => (own - other).round(3), "cpu_ratio" => (own / other).round(4)
        )
      end

      def errors_of(outcomes)
        outcomes.flatten.map(&:errors).reduce do |all, some|
          all.merge(some) { |_, one, more| one + more }
        end
      end

      def counted(requests, errors)
        { "requests" => requests.first, "other_requests" => requests.last, "errors" => errors,
          "error_count" => errors.values.sum, "flags" => [*Flags.errors(errors)] }
      end
    end
  end
end
