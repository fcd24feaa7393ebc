# frozen_string_literal: true

module NeverBlock
  module Bench
    # Requests for one path at a share of what a server can answer of them. beside: a path that one more client asks for again and again, or nil.
    ShareOfMost = Struct.new(:path, :share, :beside, keyword_init: true)

    # One run of it: what the server can do is measured first; the rate is then the same for every server of this benchmark, a share of what the first one did.
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
        most = @most.run(Load.new(connections: CONNECTIONS, path: load.path), url: process.url, seconds: settings.warmup_seconds).rate
        rate = @rates[load.path] ||= most * load.share
        raise Error, "the server answers nothing rightly" unless rate.positive?

        arrivals = Arrivals.new(rate: rate, path: load.path, connections: CONNECTIONS, beside: load.beside)
        @arrivals.take(process, Scenario.new(**scenario.to_h, load: arrivals), settings).merge("most_rate" => most.round(2), "asked_rate" => rate.round(2))
      end
    end
  end
end
