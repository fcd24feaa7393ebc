# frozen_string_literal: true

module NeverBlock
  module Bench
    # What is measured of a claim: length, servers and loads.
    class Plan
      # @return [Claim]
      attr_reader :claim
      # @return [Settings]
      attr_reader :settings
      # @return [Array<Server, Program>]
      attr_reader :servers
      # @return [Array<Scenario>]
      attr_reader :scenarios

      # @param scenarios [Array<Scenario>] the measured ones of the claim
      def initialize(claim, settings:, servers:, scenarios: claim.scenarios)
        @claim = claim
        @settings = settings
        @servers = servers
        @scenarios = scenarios
      end

      # @param only [Array<Server, Program>]
      # @return [Numeric] seconds of all rounds
      def seconds(only = servers)
        @settings.rounds * @scenarios.sum do |scenario|
          run_seconds(scenario) * only.count { |server| @claim.measures?(server, scenario) }
        end
      end

      # @param scenario [Scenario]
      # @return [Numeric] seconds of a run with start and end of its server
      def run_seconds(scenario)
        scenario.seconds(@settings) + scenario.warmup_seconds(@settings) + @claim.overhead_seconds
      end

      # Keeps as many loads as fit, taken from all over the list, and the first ones in any case.
      # @param limit [Numeric] seconds
      # @return [Plan]
      def within(limit)
        kept = with(@claim.scenario_groups.first)
        by_importance.drop(1).each do |group|
          longer = with(kept.scenarios + group)
          kept = longer if longer.seconds <= limit
        end
        with(@claim.scenario_groups.flatten & kept.scenarios)
      end

      private

      def with(scenarios)
        Plan.new(@claim, settings: @settings, servers: @servers, scenarios: scenarios)
      end

      # The first, the last, the middle, and so on.
      def by_importance
        groups = @claim.scenario_groups
        (1..groups.size).flat_map { |count| spread(groups, count) }.uniq
      end

      def spread(groups, count)
        return groups.first(1) if count == 1

        Array.new(count) { |index| groups[(index * (groups.size - 1) / (count - 1.0)).round] }
      end
    end

    # The plan of `all --quick`: one short round of each claim, with fewer loads where a claim has
    # many, so that the whole takes less than 25 minutes.
    module QuickPlan
      # Of all runs. Databases, compilers and reports take the rest of the 25 minutes.
      SECONDS_MAX = 20 * 60
      ROUNDS = 1
      SECONDS = 1
      # Claims whose runs need longer, and their warm-up in seconds.
      LONGER = { "downloads" => [3, 1] }.freeze

      class << self
        # @param claim [Claim]
        # @param rounds [Integer, nil] nil: as short as can be; the same for seconds
        # @param seconds [Numeric, nil]
        # @return [Settings]
        def settings(claim, rounds:, seconds:)
          least, warmup = LONGER.fetch(claim.name, [SECONDS, nil])
          settings = claim.settings(quick: true, rounds: rounds || ROUNDS,
                                    seconds: seconds || least)
          settings.warmup_seconds = warmup if warmup
          settings
        end

        # @param plans [Array<Plan>]
        # @param total [Numeric] seconds
        # @return [Array<Plan>] none longer than a limit at which all together fit
        def fit(plans, total: SECONDS_MAX)
          limit = fair(plans.map(&:seconds).sort, total)
          plans.map { |plan| plan.seconds > limit ? plan.within(limit) : plan }
        end

        private

        # The short ones keep their time, the others share what is left.
        def fair(ascending, total)
          ascending.each_with_index do |seconds, index|
            share = total / (ascending.size - index).to_f
            return share if seconds > share

            total -= seconds
          end
          Float::INFINITY
        end
      end
    end
  end
end
