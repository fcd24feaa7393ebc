# frozen_string_literal: true

# What the system allows this process, against what the configuration may need: memory maps for fibers, descriptors for connections, memory for workers. Asked
# once, at boot, because the alternative is a FiberError, EMFILE or a kill on the busiest day.

require "neverblock/boot/cgroup"
require "neverblock/errors"

module NeverBlock
  module Boot
    class Limits
      # A suspended fiber's stack and its guard page, whose protection splits the map (ruby cont.c; measured: the wall is at 31,744 with 65,530 maps).
      MAPS_PER_FIBER = 2
      # Ruby makes fiber stacks in batches: 32 at first, then as many as there are, 1024 at most (cont.c, fiber_pool_stack_acquire); a batch that does not
      # fit is a FiberError.
      BATCH_MIN = 32
      BATCH_MAX = 1_024
      # Maps left for what an application maps later: native extensions (4 or 5 each), threads (2 each), malloc arenas, large strings.
      MAPS_RESERVED = 1_024
      # Of the maps allowed: with so many in use it is for want of maps that a stack cannot be made, and not of memory. A batch of stacks may have failed at once.
      NEARLY = 0.9
      # Descriptors beside client connections: listeners, pollers, logs, the application's own files.
      DESCRIPTORS_RESERVED = 128

      # A worker's own memory beside what it shares with the process it was forked from, and a suspended fiber's: both measured with next to no application, so
      # that what does not fit does not fit at all.
      WORKER_BYTES = 5 << 20
      FIBER_BYTES = 13 << 10
      MB = 1 << 20

      # Ruby's words (cont.c, fiber_pool_expand) when the kernel has no map left for a fiber's stack.
      NO_STACK = /can't (?:set a guard page|alloc machine stack)/

      # @param error [FiberError] of a fiber that could not be started
      # @return [FiberError] the same, with the mend when it is the kernel's limit of maps
      def self.explain(error)
        return error unless no_stack?(error)

        without_hooks { new(nil).no_stack(error) }
      end

      # @param error [FiberError]
      # @return [Boolean] whether it is for want of a stack that the fiber could not be started
      def self.no_stack?(error)
        NO_STACK.match?(error.message)
      end

      # Where there is no stack for a fiber there is none for a thread that a hook of Ruby 3.4 may want for reading a file.
      def self.without_hooks(&block)
        Fiber.respond_to?(:blocking) ? Fiber.blocking { block.call } : block.call
      end
      private_class_method :without_hooks

      # @param config [Config, nil]
      # @param proc_root [String]
      # @param process [Module] for getrlimit and setrlimit
      # @param cgroup [#memory_bytes]
      def initialize(config, proc_root: "/proc", process: ::Process, cgroup: Cgroup.new)
        @config = config
        @proc_root = proc_root
        @process = process
        @cgroup = cgroup
      end

      # @return [void]
      # @raise [StartError] when the kernel's map limit does not leave room for the fibers
      def check_fibers
        return if maps_max.nil? || maps_needed(@config.fibers) <= maps_max

        needed = maps_needed(@config.fibers)
        raise StartError, "#{@config.fibers} fibers need about #{needed} memory maps and vm.max_map_count is #{maps_max}: " \
                          "use -f #{fibers_allowed} or fewer, or raise it: sysctl -w vm.max_map_count=#{needed}"
      end

      # @param error [FiberError]
      # @return [FiberError]
      def no_stack(error)
        return error unless maps_max && maps_used + MAPS_RESERVED > maps_max * NEARLY

        FiberError.new("#{error.message}: no memory map is left for another fiber (each takes #{MAPS_PER_FIBER}; #{maps_used} are in use, vm.max_map_count is #{maps_max}): " \
                       "run fewer at once (NB::FiberPool, -f), or raise it: sysctl -w vm.max_map_count=#{maps_max * 4}")
      end

      # Raises the soft descriptor limit to the hard one: a server that meets its limit refuses clients.
      # @return [Array<String>] one line when even that is below what the configuration may need
      def raise_descriptors
        soft, hard = @process.getrlimit(:NOFILE)
        soft = raised(soft, hard) if soft < hard
        needed = @config.settings.fetch(:connections_max) + @config.fibers + DESCRIPTORS_RESERVED
        return [] if soft >= needed

        ["#{soft} descriptors are allowed and #{@config.settings.fetch(:connections_max)} connections with #{@config.fibers} requests may need #{needed}: " \
         "raise the hard limit (ulimit -Hn #{needed}, LimitNOFILE=#{needed} of systemd, --ulimit nofile=#{needed} of docker)"]
      end

      # @param workers [Integer] processes
      # @return [Array<String>] one line when they plainly do not fit into what the control group allows
      def tight_memory(workers)
        allowed = @cgroup.memory_bytes
        needed = workers * (WORKER_BYTES + (@config.fibers * FIBER_BYTES))
        return [] if allowed.nil? || needed <= allowed

        processes = "#{"#{workers} workers with " if workers > 1}#{@config.fibers} fibers#{" each" if workers > 1}"
        ["#{processes} need #{needed / MB} MB and more, and this process's control group allows #{allowed / MB} MB (the kernel kills what goes over): " \
         "use fewer#{" -w or" if workers > 1} -f, or give the container more memory"]
      end

      private

      # macOS refuses values over kern.maxfilesperproc, though its hard limit says infinity.
      def raised(soft, hard)
        @process.setrlimit(:NOFILE, hard, hard)
        hard
      rescue SystemCallError, RangeError
        soft
      end

      def maps_needed(fibers)
        (stacks(fibers) * MAPS_PER_FIBER) + maps_used + MAPS_RESERVED
      end

      # Stacks there will be when so many fibers have run at once.
      def stacks(fibers)
        return (fibers.to_f / BATCH_MAX).ceil * BATCH_MAX if fibers > BATCH_MAX

        size = BATCH_MIN
        size *= 2 while size < fibers
        size
      end

      def fibers_allowed
        (1..maps_max / MAPS_PER_FIBER).bsearch { |fibers| maps_needed(fibers) > maps_max }.then { |first_bad| [first_bad.to_i - 1, 1].max }
      end

      def maps_max
        @maps_max ||= Integer(File.read(File.join(@proc_root, "sys/vm/max_map_count")).strip, 10)
      rescue SystemCallError, ArgumentError
        nil
      end

      def maps_used
        @maps_used ||= File.foreach(File.join(@proc_root, "self/maps")).count
      rescue SystemCallError
        0
      end
    end
  end
end
