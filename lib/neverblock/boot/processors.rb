# frozen_string_literal: true

# The number of CPUs this process may use: those of its affinity mask (sched_setaffinity(2)), at
# most the CPU time its control groups allow. The setting `workers :auto` uses it.

require "etc"
require "neverblock/boot/cgroup"
require "neverblock/config/catalog"

module NeverBlock
  module Boot
    module Processors
      module_function

      # @param cgroup [#cpus]
      # @param bound [Integer] CPUs of the affinity mask
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
