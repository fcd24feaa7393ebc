# frozen_string_literal: true

require "etc"

module NeverBlock
  module Bench
    # CPU time and resident memory of a server: its leader, the leader's process group, and all
    # descendants, read from /proc (proc(5)). A process that ends between two reads is included in
    # its parent's cutime and cstime.
    class ProcessTree
      # A line of /proc/PID/stat with times in clock ticks. cpu_ticks covers all threads, also ended
      # ones, and all children that were waited for.
      Stat = Struct.new(:pid, :parent, :group, :cpu_ticks, keyword_init: true)

      # The name (field 2) may hold spaces and parentheses, so fields are counted from the last
      # parenthesis: the state has index 0.
      PARENT = 1
      GROUP = 2
      TIMES = (11..14).freeze # utime, stime, cutime, cstime: fields 14 to 17

      class << self
        # @param line [String] the content of /proc/PID/stat
        # @return [Stat]
        def parse_stat(line)
          fields = line[(line.rindex(")") + 1)..].split
          Stat.new(pid: line.to_i, parent: fields[PARENT].to_i, group: fields[GROUP].to_i,
                   cpu_ticks: fields[TIMES].sum(&:to_i))
        end

        # @param text [String] the content of /proc/PID/status
        # @return [Integer] resident bytes; 0 for a process without memory
        def parse_rss(text)
          text[/^VmRSS:\s+(\d+) kB/, 1].to_i * 1024
        end
      end

      # @param leader [Integer] process id of the server, which leads a process group
      # @param proc_directory [String]
      # @param ticks_per_second [Integer]
      def initialize(leader, proc_directory: "/proc",
                     ticks_per_second: Etc.sysconf(Etc::SC_CLK_TCK))
        @leader = leader
        @proc_directory = proc_directory
        @ticks_per_second = ticks_per_second
      end

      # @return [Array<Integer>] the leader first, if it is alive
      def pids
        members.map(&:pid).sort_by { |pid| pid == @leader ? 0 : pid }
      end

      # Processes of the tree without children: the workers of a server with a master process.
      # @return [Array<Integer>] without the leader
      def leaves
        all = members
        (all.map(&:pid) - all.map(&:parent) - [@leader]).sort
      end

      # @return [Float] user and system seconds spent so far
      def cpu_seconds
        members.sum(&:cpu_ticks).fdiv(@ticks_per_second)
      end

      # @param pids [Array<Integer>] of the tree; finding them reads a file of every process
      # @return [Integer] sum of VmRSS; shared pages count in each process
      def rss_bytes(pids = self.pids)
        pids.sum { |pid| self.class.parse_rss(read(pid, "status")) }
      end

      private

      def members
        stats = all_stats
        found = stats.select { |stat| stat.pid == @leader || stat.group == @leader }
        fresh = found
        until fresh.empty?
          parents = fresh.map(&:pid)
          fresh = stats.select { |stat| parents.include?(stat.parent) } - found
          found += fresh
        end
        found
      end

      def all_stats
        Dir.children(@proc_directory).grep(/\A\d+\z/).filter_map do |pid|
          line = read(pid, "stat")
          self.class.parse_stat(line) unless line.empty?
        end
      end

      # Returns nothing for a process that has ended.
      def read(pid, name)
        File.read(File.join(@proc_directory, pid.to_s, name))
      rescue Errno::ENOENT, Errno::ESRCH
        ""
      end
    end
  end
end
