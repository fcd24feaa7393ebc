# frozen_string_literal: true

# Limits and events of this process's control groups, read from /sys/fs/cgroup (cgroups(7)).
# Containers and service managers set their limits there, and other interfaces do not show them.
# Version 2 and version 1; limits of all ancestor groups apply too. A limit that cannot be read
# counts as none.

module NeverBlock
  module Boot
    class Cgroup
      # Version 1 has no value for "no limit": it uses the largest multiple of a page
      # (memory.limit_in_bytes).
      UNLIMITED = 1 << 60
      # Most bytes to read of one file, which holds a few short lines.
      BYTES_MAX = 16_384

      # @param root [String] where the hierarchies are mounted
      # @param proc_root [String]
      def initialize(root: "/sys/fs/cgroup", proc_root: "/proc")
        @root = root
        @proc_root = proc_root
      end

      # @return [Float, nil] CPU time allowed, in CPUs; nil: no limit
      def cpus
        [*v2.filter_map { |group| share(*words(group, "cpu.max").first(2)) },
         *v1("cpu").filter_map { |group| v1_share(group) }].min
      end

      # @return [Integer, nil] bytes of memory allowed; nil: no limit
      def memory_bytes
        [*v2.filter_map { |group| bytes(word(group, "memory.max")) },
         *v1("memory").filter_map { |group| bytes(word(group, "memory.limit_in_bytes")) }].min
      end

      # Compare two readings: the number itself may start anywhere. Without a group that counts, it
      # is the number of the whole machine (proc_vmstat(5)).
      # @return [Integer] processes killed because memory was exhausted
      def oom_kills
        counters.each do |place|
          line = text(*place)[/^oom_kill (\d+)$/, 1]
          return line.to_i if line
        end
        0
      end

      def counters
        [*v2.map { |group| [group, "memory.events"] },
         *v1("memory").map { |group| [group, "memory.oom_control"] },
         [@proc_root, "vmstat"]]
      end

      private

      def v2
        @v2 ||= around([@root, File.join(@root, "unified")], memberships[""])
      end

      # @param controller [String]
      def v1(controller)
        @v1 ||= {}
        @v1[controller] ||= begin
          names, path = memberships.find { |names, _| names.split(",").include?(controller) }
          names ? around([File.join(@root, names), File.join(@root, controller)], path) : []
        end
      end

      # This process's group in each hierarchy, by the hierarchy's controllers; "" is version 2.
      def memberships
        @memberships ||= text(@proc_root, "self/cgroup").each_line.to_h do |line|
          _, controllers, path = line.chomp.split(":", 3)
          [controllers.to_s, path.to_s]
        end
      end

      # The group and its ancestors. In a container the group may be mounted at the root, while its
      # path is the machine's. A process outside of its namespace's root has a path with dots; then
      # only the root is read.
      def around(mounts, path)
        return [] if path.nil?

        steps = path.split("/").reject(&:empty?)
        steps = [] if steps.include?("..")
        inside = steps.size.downto(0).map { |size| steps.first(size) }
        paths = mounts.flat_map { |mount| inside.map { |names| File.join(mount, *names) } }
        paths.select { |directory| File.directory?(directory) }
      end

      def v1_share(group)
        share(word(group, "cpu.cfs_quota_us"), word(group, "cpu.cfs_period_us"))
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
