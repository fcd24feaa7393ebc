# frozen_string_literal: true

# What the stall watch (binding/stalls/stalls.c) is told when an executor starts: after how long, whose code lies where, and how its entries look. It cannot ask later:
# it tells of a stall while no Ruby code can run.

require "rbconfig"

module NeverBlock
  module Stalls
    OWN = File.expand_path("../..", __dir__)

    module_function

    # For an executor whose application is loaded.
    # @param config [Config]
    # @param worker [Integer, nil] the number that entries tell, where there are several processes
    # @return [Hash{Symbol => Object}] keywords of Executor.new; none: it is not watched
    def options(config, worker: nil)
      return {} if config.stall_ms.zero?

      { stalls: { ms: config.stall_ms, json: config.log_format == :json, worker: worker, routes: config.routes.map(&:pattern), places: places } }
    end

    # Ruby's library and this gem are never to blame; gems are shown by their names, all else under the working directory is the application's.
    # @return [Array<Array(Symbol, String, String)>] owner, folder, name
    def places
      ours = [OWN, *RbConfig::CONFIG.values_at("rubylibdir", "rubyarchdir", "sitelibdir")].compact.uniq
      gems = Gem.loaded_specs.values.reject { |spec| spec.name == "neverblock" || spec.default_gem? }
      [*ours.map { |folder| [:ours, folder, ""] }, [:application, Dir.pwd, ""], *gems.map { |spec| [:gem, spec.full_gem_path, spec.full_name] }]
    end
  end
end
