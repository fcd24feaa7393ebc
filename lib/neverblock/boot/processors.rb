# frozen_string_literal: true

# How many CPUs this process may use: those it is bound to (sched_setaffinity(2)), no more than its control groups grant it time for. What `workers :auto` means.

require "etc"
require "neverblock/boot/cgroup"
require "neverblock/config/catalog"

module NeverBlock
  module Boot
    module Processors
      module_function

      # @param cgroup [#cpus]
      # @param bound [Integer] CPUs it may run on
      # @return [Integer] at least 1
      def count(cgroup: Cgroup.new, bound: Etc.nprocessors)
        [bound, cgroup.cpus&.ceil].compact.min.clamp(1, nil)
      end

      # @param setting [Integer, :auto] the value of `workers`
      # @return [Integer] at least 1
      def workers(setting, **found)
        setting == :auto ? [count(**found), Config::Catalog::WORKERS_MAX].min : setting
      end
    end
  end
end
