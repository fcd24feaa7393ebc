# frozen_string_literal: true

# Operations of the front on processes. It reaps every process that ends: molds, workers whose mold
# has ended, and processes that an application left behind. They become its children because it is
# their subreaper (prctl(2)), or the first process of a container. A front runs no application code,
# so no one else waits for its children. If rackup has loaded an application into it, it leaves
# unknown children alone.

require "etc"

module NeverBlock
  module Cluster
    class Processes
      PAGE_BYTES = Etc.sysconf(Etc::SC_PAGESIZE)
      # Index in /proc/PID/stat after the name: field 52, exit_code (proc_pid_stat(5)).
      EXIT_CODE = 49

      # @param alone [Boolean] whether all children of this process belong to the cluster
      def initialize(alone: true)
        @alone = alone
      end

      # @param known [Array<Integer>] ids of processes that may be children of this one
      # @return [Hash{Integer => Hash}] process id => { code:, signal: } of each child that has
      #   ended
      def reap(known)
        (@alone ? [-1] : known).each_with_object({}) do |wanted, found|
          while (pid, status = ::Process.wait2(wanted, ::Process::WNOHANG))
            found[pid] = { code: status.exitstatus, signal: status.termsig }
          end
        rescue Errno::ECHILD # no child, or none any more
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
      # @return [Hash, nil] { code:, signal: }; nil: it is alive, or has been reaped
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
      # @return [Integer, nil] resident memory in bytes; nil: unknown
      def resident_bytes(pid)
        File.read("/proc/#{pid}/statm").split[1].to_i * PAGE_BYTES
      rescue SystemCallError
        nil
      end
    end
  end
end
