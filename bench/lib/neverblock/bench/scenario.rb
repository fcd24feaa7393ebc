# frozen_string_literal: true

module NeverBlock
  module Bench
    # The load of wrk: connections, threads, concurrent requests on a connection, path.
    Load = Struct.new(:connections, :threads, :pipeline, :path, keyword_init: true) do
      def initialize(connections:, threads: 1, pipeline: 1, path: "/")
        super
        freeze
      end
    end

    # The load of a program that repeats one operation: which, and in how many concurrent fibers.
    Work = Struct.new(:task, :fibers, keyword_init: true)

    # One load that every candidate of a claim gets. seconds_min lengthens a run that would count
    # too few responses. seconds_max shortens a run that would tell no more. warmup_seconds_min is
    # for loads that get warm slowly (not in a quick run).
    SCENARIO_FIELDS = %i[
      name title load warmup seconds_min seconds_min_quick seconds_max warmup_seconds_min
    ].freeze
    private_constant :SCENARIO_FIELDS

    Scenario = Struct.new(*SCENARIO_FIELDS, keyword_init: true) do
      def initialize(name:, title:, load:, warmup: load, seconds_min: 0, seconds_min_quick: 0,
                     seconds_max: 600, warmup_seconds_min: 0)
        super
        freeze
      end

      # @param settings [Settings]
      # @return [Numeric] seconds of measurement
      def seconds(settings)
        least = settings.quick ? seconds_min_quick : seconds_min
        [settings.seconds.clamp(0, seconds_max), least].max
      end

      # @param settings [Settings]
      # @return [Numeric] seconds of warm-up
      def warmup_seconds(settings)
        return settings.warmup_seconds if settings.quick

        [settings.warmup_seconds, warmup_seconds_min].max
      end
    end

    # Number of rounds, and seconds of load and warm-up.
    Settings = Struct.new(:rounds, :seconds, :warmup_seconds, :quick, keyword_init: true) do
      # @param quick [Boolean] a short look instead of a measurement
      # @param rounds [Integer, nil] nil: 5, quick 2
      # @param seconds [Numeric, nil] nil: 8, quick 2
      # @param warmup_seconds [Numeric, nil] nil: 2, quick 1
      def self.for(quick: false, rounds: nil, seconds: nil, warmup_seconds: nil)
        new(rounds: rounds || (quick ? 2 : 5), seconds: seconds || (quick ? 2 : 8),
            warmup_seconds: warmup_seconds || (quick ? 1 : 2), quick: quick)
      end
    end
  end
end
