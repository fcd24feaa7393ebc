# frozen_string_literal: true

# `neverblock reload`: makes a running server load new code, and reports the result.

require "neverblock/cli/asking"

module NeverBlock
  module CLI
    class Reload < Asking
      NAME = "reload"

      private

      def report(answer, seconds, _pid)
        "reloaded in #{seconds} s#{workers(answer[:workers].to_a)}"
      end

      def refused(pid, alive, reason)
        return "process #{pid} ended before it had reloaded; see its log" unless alive

        "process #{pid} cannot report on a reload (#{reason}): started by rails server or rackup " \
          "it does not reload, and is started again; started by `neverblock -w 2` it does, " \
          "by kill -HUP #{pid}, and tells the result in its log"
      end

      def workers(list)
        serving = list.grep(Hash).reject { |worker| worker[:state] == "retiring" }
        pids = serving.map { |worker| worker[:pid] }
        return "" if pids.empty?

        subject = pids.size > 1 ? "the workers are processes" : "the worker is process"
        "; #{subject} #{pids.join(", ")}"
      end
    end
  end
end
