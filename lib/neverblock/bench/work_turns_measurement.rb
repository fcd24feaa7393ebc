# frozen_string_literal: true

module NeverBlock
  module Bench
    # What a Company's requests that compute take beside its light requests, and by turns with another Server, on which nobody is beside them.
    WorkTurns = Struct.new(:company, :other, keyword_init: true) do
      # @return [Hash{Symbol => Object}] for the report
      def to_h
        { **company.to_h, other: other.name }
      end
    end

    # One run of it: in a turn all clients ask once, and the turn is over when the last has its answer, so that no request under way is lost to the count; the
    # sums of the turns are compared, as both servers live in the same minute of a machine's changing speed.
    class WorkTurnsMeasurement
      TURNS = 3
      TURNS_QUICK = 1
      # The light requests are to last for longer than the work does.
      SPARE_SHARE = 0.25

      # @param app [String] rackup file
      # @param path [String] what the other server is asked until it answers
      # @param load_generator [#run] OpenLoop
      # @param work [#call] makes RepeatedRequests of a URL
      # @param host [#run] ServerProcess
      def initialize(app:, path: "/", load_generator: OpenLoop.new, work: ->(url) { RepeatedRequest.new(url, pause: ->(_) {}) }, host: ServerProcess)
        @app = app
        @path = path
        @load_generator = load_generator
        @work = work
        @host = host
      end

      # @param process [ServerProcess] just started
      # @param scenario [Scenario] its load is WorkTurns
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat: kept_share is the work done in a second, over the other's
      def take(process, scenario, settings)
        company = scenario.load.company
        @host.run(scenario.load.other, app: @app, path: @path) do |other|
          limit = [process, other].map { |one| once(one, company) }.max
          turns = Array.new(settings.quick ? TURNS_QUICK : TURNS) { |turn| take_turns(process, other, company, turn, limit) }
          ended = [process, other].find { |one| !one.alive? }
          raise Error, "the server ended under load: #{ended.last_words}" if ended

          figures(*turns.transpose)
        end
      end

      private

      # Who was last in one turn is first in the next.
      # @return [Array] seconds, and light requests that failed, beside them; seconds without
      def take_turns(process, other, company, turn, limit)
        both = [-> { beside(process, company, turn, limit) }, -> { once(other, company) }]
        taken = both.rotate(turn).to_h { |one| [one, one.call] }
        both.map { |one| taken.fetch(one) }
      end

      def once(process, company)
        @work.call(process.url).once(company.beside, clients: company.clients)
      end

      def beside(process, company, turn, limit)
        lights = [[process.url, company.light], *company.asides.map { |aside| [aside.admin ? process.admin_url : process.url, aside.arrivals] }]
        seconds = limit * (1 + SPARE_SHARE)
        threads = lights.each_with_index.map do |(url, arrivals), place|
          jobs = arrivals.jobs(seconds, (turn * lights.size) + place)
          Thread.new { @load_generator.run(jobs, url: url, connections: arrivals.connections) }.tap { |thread| thread.report_on_exception = false }
        end
        taken = once(process, company)
        [taken, threads.sum { |thread| thread.value.count { |answer| !answer.good? } }]
      ensure
        threads&.each(&:join)
      end

      def figures(own, other)
        times, errors = own.transpose
        { "turns" => times.size, "seconds" => times.sum.round(3), "other_seconds" => other.sum.round(3), "kept_share" => (other.sum / times.sum).round(4),
          "error_count" => errors.sum, "flags" => [] }
      end
    end
  end
end
