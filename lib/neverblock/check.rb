# frozen_string_literal: true

# `neverblock check`: loads an application in a process of its own. It reports what in the
# application, its gems, its settings and this machine will block or break requests. Each finding
# names its fix. A rule is one method of a class in check/rules/. docs/guides/check.md explains
# every rule.

require "neverblock/check/finding"
require "neverblock/check/report"
require "neverblock/check/run"

module NeverBlock
  module Check
    module_function

    # @param settings [Config::Settings] the settings the server would have
    # @param rackup [String, nil] path; nil: config.ru of this folder
    # @param probe [Array<String>, nil] paths to request; empty: those of the application's routes;
    #   nil: none
    # @param verbose [Boolean] whether the application's output is shown
    # @param silence_s [Numeric] seconds without progress after which the run is ended
    # @return [Run] a run that has ended
    def run(settings, rackup: nil, probe: nil, verbose: false, silence_s: Run::SILENCE_S)
      Run.new(verbose: verbose, silence_s: silence_s) do |tell|
        require "neverblock/check/inspection"
        Inspection.new(settings, rackup, probe, &tell).run
      end.run
    end
  end
end
