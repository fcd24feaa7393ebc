# frozen_string_literal: true

require "net/http"

module NeverBlock
  module Bench
    # Light requests (Arrivals) in bad company: clients that ask for the path `beside` again and again, and asides, whose waits are told beside the light requests'.
    # first: a path that is asked for once, before all.
    Company = Struct.new(:light, :beside, :clients, :asides, :first, keyword_init: true) do
      def initialize(light:, beside: nil, clients: 4, asides: [], first: nil)
        super
        freeze
      end
    end

    # More requests, by name. admin: they go to where the server tells of itself.
    Aside = Struct.new(:name, :arrivals, :admin, keyword_init: true)

    # One run of a Company: figures of the light requests as OpenMeasurement takes them, the waits of the asides, and what the company got done.
    class CompanyMeasurement
      # The company begins first: every light request has it.
      HEAD_START_SECONDS = 1

      # @param light [#take] OpenMeasurement
      # @param load_generator [#run] OpenLoop
      # @param company [#call] makes RepeatedRequests of a URL
      # @param pause [#call] waits so many seconds
      def initialize(light: OpenMeasurement.new, load_generator: OpenLoop.new, company: ->(url) { RepeatedRequest.new(url, pause: ->(_) {}) }, pause: method(:sleep))
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
        around = ->(&measured) { beside(process, load, scenario.seconds(settings), found, &measured) }
        figures = @light.take(process, Scenario.new(**scenario.to_h, load: load.light), settings, around: around)
        figures.merge(found) { |key, light, others| key == "error_count" ? light + others : others }
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
          Thread.new { send_all(aside, aside.admin ? process.admin_url : process.url, seconds, place) }.tap { |thread| thread.report_on_exception = false }
        end
        value = yield
        figures = running.map(&:value)
        found.merge!("error_count" => figures.sum { |each| each.delete("error_count") }, **figures.reduce({}, :merge))
        value
      ensure
        running&.each(&:join)
      end

      def send_all(aside, url, seconds, seed)
        arrivals = aside.arrivals
        good, bad = @load_generator.run(arrivals.jobs(seconds, seed), url: url, connections: arrivals.connections).partition(&:good?)
        waits = good.map(&:latency_us).sort
        { "error_count" => bad.size, "#{aside.name}_p50_us" => OpenMeasurement.percentile(waits, 0.5), "#{aside.name}_p99_us" => OpenMeasurement.percentile(waits, 0.99),
          "#{aside.name}_max_us" => waits.last }
      end
    end
  end
end
