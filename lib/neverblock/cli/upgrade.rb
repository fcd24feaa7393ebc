# frozen_string_literal: true

# `neverblock upgrade`: has a running server start a new process in its place, and reports the
# result.

require "neverblock/cli/asking"

module NeverBlock
  module CLI
    class Upgrade < Asking
      NAME = "upgrade"

      private

      def report(answer, seconds, pid)
        "upgraded in #{seconds} s; process #{answer[:pid]} serves, process #{pid} lets its " \
          "requests end"
      end

      def refused(pid, alive, reason)
        return "process #{pid} ended before the upgrade; see its log" unless alive

        "process #{pid} cannot report on an upgrade (#{reason}): " \
          "kill -USR2 #{pid} upgrades; see its log for the result"
      end
    end
  end
end
