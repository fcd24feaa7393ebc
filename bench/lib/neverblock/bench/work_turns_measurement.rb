# frozen_string_literal: true

module NeverBlock
  module Bench
    # What a Company's requests that compute take beside its light requests, and by turns on another Server, on which nobody is beside them.
    WorkTurns = Struct.new(:company, :other, keyword_init: true) do
      # @return [Hash{Symbol => Object}] for the report
      def to_h
        { **company.to_h, other: other.name }
      end
    end

    # One run of it. Both servers are given the same work at once, and go on by turns (SIGSTOP, SIGCONT) until each has done it; the time that each went on is compared. So no
    # request under way is lost to the count, and a machine that changes its speed changes it for both. While the other goes on, a third is asked for what is light: what
    # cores have in common, and those who ask, is as busy in either turn.
    class WorkTurnsMeasurement
      WORKS = 3
      WORKS_QUICK = 1
      TURN_SECONDS = 0.2

      # @param app [String] rackup file
      # @param path [String] what the other servers are asked until they answer
      # @param work [#call] makes RepeatedRequests of a URL
      # @param light [#call] makes PacedRequests of a URL and Arrivals
      # @param host [#run] ServerProcess
      # @param turn_seconds [Numeric]
      def initialize(app:, path: "/", work: ->(url) { RepeatedRequest.new(url, pause: ->(_) {}) }, light: PacedRequests.method(:new), host: ServerProcess,
                     turn_seconds: TURN_SECONDS)
        @app = app
        @path = path
        @work = work
        @light = light
        @host = host
        @turn_seconds = turn_seconds
      end

      # @param process [ServerProcess] just started
      # @param scenario [Scenario] its load is WorkTurns
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat: kept_share is the work done in a second, over the other's
      def take(process, scenario, settings)
        company = scenario.load.company
        start_two(scenario.load.other) do |other, third|
          [process, other].each { |one| work(one, company) }
          found = figures(*measure(process, other, third, company, settings.quick ? WORKS_QUICK : WORKS))
          ended = [process, other, third].find { |one| !one.alive? }
          raise Error, "the server ended under load: #{ended.last_words}" if ended

          found
        end
      end

      private

      def start_two(server)
        @host.run(server, app: @app, path: @path) { |one| @host.run(server, app: @app, path: @path) { |two| yield one, two } }
      end

      def work(process, company)
        @work.call(process.url).once(company.beside, clients: company.clients)
      end

      # @return [Array(Array<Array<Float>>, Integer)] seconds of each work, of the process and of the other; light requests to the process that failed
      def measure(process, other, third, company, works)
        lights = [process, third].map { |asked| lights(asked, company) }
        parts = [[process, lights.first], [other, lights.last]]
        [Array.new(works) { |number| race(parts, company, number) }, lights.first.sum(&:stop)]
      ensure
        lights&.flatten&.each(&:stop)
      end

      def lights(process, company)
        [@light.call(process.url, company.light), *company.asides.map { |aside| @light.call(aside.admin ? process.admin_url : process.url, aside.arrivals) }]
      end

      # Who was last in one work is first in the next.
      def race(parts, company, number)
        parts.each { |process, _| process.suspend }
        runners = parts.map { |process, lights| Runner.new(process, lights) { work(process, company) } }
        runners.rotate(number).each { |runner| runner.go(@turn_seconds) } until runners.all?(&:done?)
        runners.map(&:seconds)
      ensure
        parts.each { |process, _| process.resume }
        runners&.each(&:finish)
      end

      def figures(works, failed)
        own, other = works.transpose.map(&:sum)
        { "works" => works.size, "seconds" => own.round(3), "other_seconds" => other.round(3), "kept_share" => (other / own).round(4), "error_count" => failed, "flags" => [] }
      end

      # A server's part in one work.
      class Runner
        # @return [Float] that it went on for until the work was done
        attr_reader :seconds

        # @yield the work
        def initialize(process, lights, &work)
          @process = process
          @lights = lights
          @seconds = 0.0
          @thread = Thread.new(&work)
          @thread.report_on_exception = false
        end

        def done?
          !@thread.alive?
        end

        # Not at all when its work is done.
        def go(seconds)
          return if done?

          @process.resume
          @lights.each(&:go)
          before = now
          @thread.join(seconds)
          @seconds += now - before
          @lights.each(&:pause)
          @process.suspend
        end

        # @raise what the work has raised
        def finish
          @thread.join
        end

        private

        def now
          Process.clock_gettime(Process::CLOCK_MONOTONIC)
        end
      end
      private_constant :Runner
    end
  end
end
