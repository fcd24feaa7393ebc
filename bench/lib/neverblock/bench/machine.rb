# frozen_string_literal: true

require "etc"

module NeverBlock
  module Bench
    # Facts that influence a figure: processor, kernel, governor, and other work of the machine.
    module Machine
      # Fields of the first line of /proc/stat that are work for processes: user, nice, system,
      # steal. Interrupt time is left out, because on loopback it belongs to the load.
      WORK = [0, 1, 2, 7].freeze
      GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"

      class << self
        # @return [Hash{String => Object}] for the report
        def describe
          {
            "cpu" => cpu_model(read("/proc/cpuinfo")), "cores" => Etc.nprocessors,
            "memory_bytes" => read("/proc/meminfo")[/^MemTotal:\s+(\d+) kB/, 1].to_i * 1024,
            "kernel" => Etc.uname.values_at(:sysname, :release, :machine).join(" "),
            "system" => read("/etc/os-release")[/^PRETTY_NAME="?([^"\n]*)/, 1],
            "governor" => blank_to_nil(read(GOVERNOR).strip), "ruby" => RUBY_DESCRIPTION,
            "open_files_max" => Process.getrlimit(Process::RLIMIT_NOFILE).last,
            "load_average" => read("/proc/loadavg").split.first(3).map(&:to_f)
          }
        end

        # @param text [String] the content of /proc/cpuinfo
        # @return [String, nil]
        def cpu_model(text)
          text[/^model name\s*:\s*(.+)$/, 1] || text[/^Model\s*:\s*(.+)$/, 1]
        end

        # @param text [String] the content of /proc/stat
        # @return [Integer] clock ticks of all processors for processes, with stolen time
        def work_ticks(text = read("/proc/stat"))
          fields = text.lines.first.to_s.split.drop(1).map(&:to_i)
          WORK.sum { |index| fields.fetch(index, 0) }
        end

        # All time of a processor but idle and waiting for disks. Unlike a process's own time, it
        # includes the kernel's interrupts, which do most of the work of a loopback connection.
        # @param core [Integer]
        # @param text [String] the content of /proc/stat
        # @return [Float] seconds so far
        def core_seconds(core, text = read("/proc/stat"))
          fields = text[/^cpu#{core} (.*)$/, 1].to_s.split.map(&:to_i)
          ticks = fields.first(8).sum - fields.values_at(3, 4).sum(&:to_i)
          ticks.fdiv(Etc.sysconf(Etc::SC_CLK_TCK))
        end

        # @return [Float] seconds of work of the whole machine so far
        def work_seconds
          work_ticks.fdiv(Etc.sysconf(Etc::SC_CLK_TCK))
        end

        private

        def read(path)
          File.read(path)
        rescue SystemCallError
          ""
        end

        def blank_to_nil(text)
          text.empty? ? nil : text
        end
      end
    end
  end
end
