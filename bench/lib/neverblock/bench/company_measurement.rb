# frozen_string_literal: true

require "net/http"

module NeverBlock
  module Bench
    # Light requests (Arrivals) together with a disturbance: clients that request the path `beside`
    # again and again, and asides, whose latencies are reported beside those of the light requests.
    # first: a path that is requested once at the start.
    Company = Struct.new(:light, :beside, :clients, :asides, :first, keyword_init: true) do
      def initialize(light:, beside: nil, clients: 4, asides: [], first: nil)
        super
        freeze
      end
    end

    # Further requests with a name. admin: they go to the admin address.
    Aside = Struct.new(:name, :arrivals, :admin, keyword_init: true)

    # One run of a Company: figures of the light requests as in OpenMeasurement, latencies of the
    # asides, and the number of answered `beside` requests.
    class CompanyMeasurement
      # Seconds by which the disturbance starts before the light requests.
      HEAD_START_SECONDS = 1

      # @param light [#take] OpenMeasurement
      # @param load_generator [#run] OpenLoop
      # @param company [#call] makes a RepeatedRequest from a URL
      # @param pause [#call] sleeps for a number of seconds
      def initialize(light: OpenMeasurement.new, load_generator: OpenLoop.new,
                     company: RepeatedRequest.method(:at_once), pause: method(:sleep))
        @light = light
        @load_generator = load_generator
        @company = company
        @pause = pause
      end

      # @param process [ServerProcess] just started
      # @param scenario [Scenario] its load is a Company
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat
      def take(process, scenario, settings)
        load = scenario.load
        Net::HTTP.get_response(URI("#{process.url}#{load.first}")).value if load.first
        found = {}
        around = lambda do |&measured|
          beside(process, load, scenario.seconds(settings), found, &measured)
        end
        light = Scenario.new(**scenario.to_h, load: load.light)
        figures = @light.take(process, light, settings, around: around)
        figures.merge(found) do |key, own, others|
          key == "error_count" ? own + others : others
        end
      end

      private

      def beside(process, load, seconds, found)
        company = @company.call(process.url)
        value, count = company.during(load.beside, clients: load.clients) do
          @pause.call(HEAD_START_SECONDS) if load.beside
          with_asides(process, load.asides, seconds, found) { yield }
        end
        found["beside_count"] = count
        value
      end

      def with_asides(process, asides, seconds, found)
        running = asides.each_with_index.map do |aside, place|
          url = aside.admin ? process.admin_url : process.url
          quiet_thread { send_all(aside, url, seconds, place) }
        end
        value = yield
        figures = running.map(&:value)
        errors = figures.sum { |each| each.delete("error_count") }
        found.merge!("error_count" => errors, **figures.reduce({}, :merge))
        value
      ensure
        running&.each(&:join)
      end

      # A thread whose exception is raised only in #value and #join.
      def quiet_thread(&block)
        Thread.new(&block).tap { |thread| thread.report_on_exception = false }
      end

      def send_all(aside, url, seconds, seed)
        arrivals = aside.arrivals
        jobs = arrivals.jobs(seconds, seed)
        answers = @load_generator.run(jobs, url: url, connections: arrivals.connections)
        good, bad = answers.partition(&:good?)
        waits = good.map(&:latency_us).sort
        { "error_count" => bad.size,
          "#{aside.name}_p50_us" => OpenMeasurement.percentile(waits, 0.5),
          "#{aside.name}_p99_us" => OpenMeasurement.percentile(waits, 0.99),
          "#{aside.name}_max_us" => waits.last }
      end
    end
  end
end
