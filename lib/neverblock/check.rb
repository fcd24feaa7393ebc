# frozen_string_literal: true

# `neverblock check`: loads an application in a process of its own and says what of it, of its gems, of its settings and of this machine will stop requests or make
# them go wrong, and the mend. A rule is one method of a family in check/rules/; docs/guides/check.md explains each.

require "neverblock/check/finding"
require "neverblock/check/report"
require "neverblock/check/run"

module NeverBlock
  module Check
    module_function

    # @param settings [Config::Settings] as the server would have them
    # @param rackup [String, nil] path; nil: config.ru of this folder
    # @param probe [Array<String>, nil] paths that are asked for; empty: what the application's routes say; nil: none
    # @param verbose [Boolean] whether what the application writes is shown
    # @param silence_s [Numeric] seconds without progress, after which it is given up
    # @return [Run] that has ended
    def run(settings, rackup: nil, probe: nil, verbose: false, silence_s: Run::SILENCE_S)
      Run.new(verbose: verbose, silence_s: silence_s) do |tell|
        require "neverblock/check/inspection"
        Inspection.new(settings, rackup, probe, &tell).run
      end.run
    end
  end
end
