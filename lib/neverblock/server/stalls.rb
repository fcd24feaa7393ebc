# frozen_string_literal: true

# Options of the stall watch (binding/stalls/stalls.c), given when an executor starts: the time, the
# format of entries, and the owners of code by folder. They are given in advance, because it reports
# a stall while no Ruby code can run. The owners are also for what the admin address shows.

require "rbconfig"

module NeverBlock
  module Stalls
    OWN = File.expand_path("../..", __dir__)

    module_function

    # For an executor whose application has been loaded.
    # @param config [Config]
    # @param worker [Integer, nil] number of the worker in entries; nil: one process
    # @return [Hash{Symbol => Object}] keywords of Executor.new; empty: nobody asks whose code it is
    def options(config, worker: nil)
      watches = config.stall_ms.positive?
      return {} unless watches || config.admin
      return { places: places } unless watches

      { stalls: { ms: config.stall_ms, json: config.log_format == :json, worker: worker,
                  whole_trace: config.stall_trace == :whole,
                  routes: config.routes.map(&:pattern) },
        places: places }
    end

    # Ruby's library and this gem are never the culprit. Gems are shown by their names. Other code
    # under the working directory is the application's.
    # @return [Array<Array(Symbol, String, String)>] owner, folder, name
    def places
      ruby = RbConfig::CONFIG.values_at("rubylibdir", "rubyarchdir", "sitelibdir")
      ours = [OWN, *ruby].compact.uniq
      gems = Gem.loaded_specs.values.reject do |spec|
        spec.name == GEM_NAME || spec.default_gem?
      end
      [*ours.map { |folder| [:ours, folder, ""] }, [:application, Dir.pwd, ""],
       *gems.map { |spec| [:gem, spec.full_gem_path, spec.full_name] }]
    end
  end
end
