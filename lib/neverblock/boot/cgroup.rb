# frozen_string_literal: true

# What the control groups of this process allow and what they have done, read from /sys/fs/cgroup (cgroups(7)): containers and service managers set their limits
# there, and the rest of the system does not tell. Version 2 and version 1; the limits of all groups around this one hold too. What cannot be read does not limit.

module NeverBlock
  module Boot
    class Cgroup
      # Version 1 has no word for "no limit": it is the largest multiple of a page (memory.limit_in_bytes).
      UNLIMITED = 1 << 60
      # A group's files hold a few short lines.
      BYTES_MAX = 16_384

      # @param root [String] where the hierarchies are mounted
      # @param proc_root [String]
      def initialize(root: "/sys/fs/cgroup", proc_root: "/proc")
        @root = root
        @proc_root = proc_root
      end

      # @return [Float, nil] CPUs' worth of time it may use; nil: no limit
      def cpus
        [*v2.filter_map { |group| share(*words(group, "cpu.max").first(2)) },
         *v1("cpu").filter_map { |group| share(word(group, "cpu.cfs_quota_us"), word(group, "cpu.cfs_period_us")) }].min
      end

      # @return [Integer, nil] bytes it may have; nil: no limit
      def memory_bytes
        [*v2.filter_map { |group| bytes(word(group, "memory.max")) },
         *v1("memory").filter_map { |group| bytes(word(group, "memory.limit_in_bytes")) }].min
      end

      # Look at the difference of two readings: the number itself may begin anywhere. Without a group that counts, it is the whole machine's (proc_vmstat(5)).
      # @return [Integer] processes that were killed for want of memory
      def oom_kills
        counted = v2.map { |group| [group, "memory.events"] } + v1("memory").map { |group| [group, "memory.oom_control"] } + [[@proc_root, "vmstat"]]
        counted.each do |place|
          line = text(*place)[/^oom_kill (\d+)$/, 1]
          return line.to_i if line
        end
        0
      end

      private

      def v2
        @v2 ||= around([@root, File.join(@root, "unified")], memberships[""])
      end

      # @param controller [String]
      def v1(controller)
        @v1 ||= {}
        @v1[controller] ||= begin
          names, path = memberships.find { |controllers, _| controllers.split(",").include?(controller) }
          names ? around([File.join(@root, names), File.join(@root, controller)], path) : []
        end
      end

      # This process's group in each hierarchy, by the hierarchy's controllers: "" is version 2.
      def memberships
        @memberships ||= text(@proc_root, "self/cgroup").each_line.to_h do |line|
          _, controllers, path = line.chomp.split(":", 3)
          [controllers.to_s, path.to_s]
        end
      end

      # The group, and those around it. A container may see itself at the root while its path is that of the machine, and a process outside of a namespace's
      # root has a path with dots: then the root is what there is.
      def around(mounts, path)
        return [] if path.nil?

        steps = path.split("/").reject(&:empty?)
        steps = [] if steps.include?("..")
        inside = steps.size.downto(0).map { |size| steps.first(size) }
        mounts.flat_map { |mount| inside.map { |names| File.join(mount, *names) } }.select { |directory| File.directory?(directory) }
      end

      def share(quota = nil, period = nil)
        return nil unless quota&.match?(/\A\d+\z/) && period&.match?(/\A\d+\z/)

        quota.to_f / period.to_i if quota.to_i.positive? && period.to_i.positive?
      end

      def bytes(word)
        word.to_i if word&.match?(/\A\d+\z/) && word.to_i < UNLIMITED
      end

      def word(group, name)
        words(group, name).first
      end

      def words(group, name)
        text(group, name).split
      end

      def text(*place)
        File.read(File.join(*place), BYTES_MAX).to_s.scrub("?")
      rescue SystemCallError
        ""
      end
    end
  end
end
