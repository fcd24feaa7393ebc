# frozen_string_literal: true

# What the front does to processes and asks of them. Everything that ends here is reaped here: molds, workers whose mold has gone, and what an application left
# behind, all of which come to the front where it is their subreaper (prctl(2)) or the first process of a container. A front runs no application code, so that
# nobody else waits for a child; one that rackup has loaded an application into leaves alone what it does not know.

module NeverBlock
  module Cluster
    class Processes
      PAGE_BYTES = 4_096
      # Of /proc/PID/stat: field 52, counted from the one after the name.
      EXIT_CODE = 49

      # @param alone [Boolean] whether all children of this process are the cluster's
      def initialize(alone: true)
        @alone = alone
      end

      # @param known [Array<Integer>] processes that may have become children of this one
      # @return [Hash{Integer => Hash}] process id => { code:, signal: } of each child that has ended
      def reap(known)
        (@alone ? [-1] : known).each_with_object({}) do |wanted, found|
          while (pid, status = ::Process.wait2(wanted, ::Process::WNOHANG))
            found[pid] = { code: status.exitstatus, signal: status.termsig }
          end
        rescue Errno::ECHILD # none, or none any more
          next
        end
      end

      # @param pid [Integer, nil]
      # @return [void]
      def kill(pid)
        ::Process.kill("KILL", pid) if pid
      rescue Errno::ESRCH
        nil
      end

      # @param pid [Integer]
      # @return [Boolean]
      def alive?(pid)
        ::Process.kill(0, pid)
        true
      rescue Errno::ESRCH
        false
      rescue Errno::EPERM
        true
      end

      # How a process has ended that its parent has not reaped yet (proc_pid_stat(5), exit_code).
      # @param pid [Integer]
      # @return [Hash, nil] { code:, signal: }; nil: it lives, or is gone altogether
      def remains(pid)
        fields = File.read("/proc/#{pid}/stat").rpartition(")").last.split
        return unless fields.first == "Z"

        status = fields[EXIT_CODE].to_i
        signal = status & 0x7f
        signal.zero? ? { code: status >> 8, signal: nil } : { code: nil, signal: signal }
      rescue SystemCallError
        nil
      end

      # @param pid [Integer]
      # @return [Integer, nil] resident memory; nil: unknown
      def resident_bytes(pid)
        File.read("/proc/#{pid}/statm").split[1].to_i * PAGE_BYTES
      rescue SystemCallError
        nil
      end
    end
  end
end
