# frozen_string_literal: true

module NeverBlock
  module Bench
    # The time that a Company's computing requests take beside its light requests, compared in turns
    # with another Server without light requests.
    WorkTurns = Struct.new(:company, :other, keyword_init: true) do
      # @return [Hash{Symbol => Object}] for the report
      def to_h
        { **company.to_h, other: other.name }
      end
    end

    # One run of it. Both servers get the same work at once and run in turns (SIGSTOP, SIGCONT)
    # until each has done it. The running times are compared. So no request in progress is lost to
    # the count, and a change of the machine's speed affects both. During the other server's turns,
    # a third one gets the light requests, so that shared caches and the clients are equally busy in
    # every turn.
    class WorkTurnsMeasurement
      WORKS = 3
      WORKS_QUICK = 1
      TURN_SECONDS = 0.2

      # @param app [String] rackup file
      # @param path [String] requested until the other servers answer
      # @param work [#call] makes a RepeatedRequest from a URL
      # @param light [#call] makes PacedRequests from a URL and Arrivals
      # @param host [#run] ServerProcess
      # @param turn_seconds [Numeric]
      def initialize(app:, path: "/", work: RepeatedRequest.method(:at_once),
                     light: PacedRequests.method(:new), host: ServerProcess,
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
      # @return [Hash{String => Object}] the figures, flat; kept_share is the work done in a second,
      #   divided by the other's
      def take(process, scenario, settings)
        company = scenario.load.company
        start_two(scenario.load.other) do |other, third|
          [process, other].each { |one| work(one, company) }
          works = settings.quick ? WORKS_QUICK : WORKS
          found = figures(*measure(process, other, third, company, works))
          ended = [process, other, third].find { |one| !one.alive? }
          raise Error, "the server ended under load: #{ended.last_words}" if ended

          found
        end
      end

      private

      def start_two(server)
        @host.run(server, app: @app, path: @path) do |one|
          @host.run(server, app: @app, path: @path) { |two| yield one, two }
        end
      end

      def work(process, company)
        @work.call(process.url).once(company.beside, clients: company.clients)
      end

      # @return [Array(Array<Array<Float>>, Integer)] for each work the seconds of the process and
      #   of the other; number of failed light requests to the process
      def measure(process, other, third, company, works)
        lights = [process, third].map { |asked| lights(asked, company) }
        parts = [[process, lights.first], [other, lights.last]]
        [Array.new(works) { |number| race(parts, company, number) }, lights.first.sum(&:stop)]
      ensure
        lights&.flatten&.each(&:stop)
      end

      def lights(process, company)
        light = @light.call(process.url, company.light)
        asides = company.asides.map do |aside|
          @light.call(aside.admin ? process.admin_url : process.url, aside.arrivals)
        end
        [light, *asides]
      end

      # The order alternates with each work.
      def race(parts, company, number)
        parts.each { |process, _| process.suspend }
        runners = parts.map do |process, lights|
          Runner.new(process, lights) { work(process, company) }
        end
        until runners.all?(&:done?)
          runners.rotate(number).each { |runner| runner.go(@turn_seconds) }
        end
        runners.map(&:seconds)
      ensure
        parts.each { |process, _| process.resume }
        runners&.each(&:finish)
      end

      def figures(works, failed)
        own, other = works.transpose.map(&:sum)
        { "works" => works.size, "seconds" => own.round(3), "other_seconds" => other.round(3),
          "kept_share" => (other / own).round(4), "error_count" => failed, "flags" => [] }
      end

      # A server's part in one work.
      class Runner
        # @return [Float] running time until the work was done
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

        # Does nothing when the work is done.
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

        # @raise the exception of the work
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
