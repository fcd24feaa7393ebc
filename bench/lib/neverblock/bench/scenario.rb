# frozen_string_literal: true

module NeverBlock
  module Bench
    # What wrk is told: how many connections and threads, how many requests at once on a connection, which path.
    Load = Struct.new(:connections, :threads, :pipeline, :path, keyword_init: true) do
      def initialize(connections:, threads: 1, pipeline: 1, path: "/")
        super
        freeze
      end
    end

    # What a program is told that repeats one operation: which, in how many fibers at once.
    Work = Struct.new(:task, :fibers, keyword_init: true)

    # One load that every candidate of a claim gets. seconds_min lengthens the run where a short one would count too few answers; seconds_max
    # shortens it where a longer one would tell no more; warmup_seconds_min is for what gets warm slowly (not in a quick look).
    Scenario = Struct.new(:name, :title, :load, :warmup, :seconds_min, :seconds_min_quick, :seconds_max, :warmup_seconds_min, keyword_init: true) do
      def initialize(name:, title:, load:, warmup: load, seconds_min: 0, seconds_min_quick: 0, seconds_max: 600, warmup_seconds_min: 0)
        super
        freeze
      end

      # @param settings [Settings]
      # @return [Numeric] how long this scenario is measured
      def seconds(settings)
        [settings.seconds.clamp(0, seconds_max), settings.quick ? seconds_min_quick : seconds_min].max
      end

      # @param settings [Settings]
      # @return [Numeric] how long it is warmed up
      def warmup_seconds(settings)
        settings.quick ? settings.warmup_seconds : [settings.warmup_seconds, warmup_seconds_min].max
      end
    end

    # How long and how often; seconds and warmup_seconds in seconds.
    Settings = Struct.new(:rounds, :seconds, :warmup_seconds, :quick, keyword_init: true) do
      # @param quick [Boolean] a look rather than a measurement
      # @param rounds [Integer, nil] nil: 5, quick 2
      # @param seconds [Numeric, nil] nil: 8, quick 2
      # @param warmup_seconds [Numeric, nil] nil: 2, quick 1
      def self.for(quick: false, rounds: nil, seconds: nil, warmup_seconds: nil)
        new(rounds: rounds || (quick ? 2 : 5), seconds: seconds || (quick ? 2 : 8), warmup_seconds: warmup_seconds || (quick ? 1 : 2), quick: quick)
      end
    end
  end
end
