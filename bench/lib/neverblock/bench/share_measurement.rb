# frozen_string_literal: true

module NeverBlock
  module Bench
    # Requests for one path at a share of the rate a server can reach. beside: a path that another
    # client requests again and again, or nil.
    ShareOfMost = Struct.new(:path, :share, :beside, keyword_init: true)

    # One run of it. The server's highest rate is measured first. The load is the same for every
    # server of this benchmark: a share of the first server's rate.
    class ShareMeasurement
      CONNECTIONS = 64

      # @param most [#run] Wrk
      # @param arrivals [#take] OpenMeasurement
      def initialize(most: Wrk.new, arrivals: OpenMeasurement.new)
        @most = most
        @arrivals = arrivals
        @rates = {}
      end

      # @param process [ServerProcess] just started
      # @param scenario [Scenario] its load is a ShareOfMost
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat
      def take(process, scenario, settings)
        load = scenario.load
        most = highest_rate(process, load.path, settings)
        rate = @rates[load.path] ||= most * load.share
        raise Error, "the server has no correct response" unless rate.positive?

        arrivals = Arrivals.new(rate: rate, path: load.path, connections: CONNECTIONS,
                                beside: load.beside)
        figures = @arrivals.take(process, Scenario.new(**scenario.to_h, load: arrivals), settings)
        figures.merge("most_rate" => most.round(2), "asked_rate" => rate.round(2))
      end

      private

      def highest_rate(process, path, settings)
        load = Load.new(connections: CONNECTIONS, path: path)
        @most.run(load, url: process.url, seconds: settings.warmup_seconds).rate
      end
    end
  end
end
