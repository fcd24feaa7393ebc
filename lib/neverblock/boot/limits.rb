# frozen_string_literal: true

# Compares what the system allows this process with what the configuration may need: memory maps for
# fibers, descriptors for connections, memory for workers. Checked once at boot; otherwise a busy
# server would meet a FiberError, EMFILE or a kill.

require "neverblock/boot/cgroup"
require "neverblock/errors"

module NeverBlock
  module Boot
    class Limits
      # A suspended fiber's stack and its guard page; the guard's protection splits the map (ruby
      # cont.c).
      MAPS_PER_FIBER = 2
      # Ruby allocates fiber stacks in batches: 32 at first, then as many as there are, at most 1024
      # (cont.c, fiber_pool_stack_acquire). A batch that does not fit is a FiberError.
      BATCH_MIN = 32
      BATCH_MAX = 1_024
      # Maps left for an application's later use: native extensions (4 or 5 each), threads (2 each),
      # malloc arenas, large strings.
      MAPS_RESERVED = 1_024
      # Share of the allowed maps above which a failed stack is explained by the map limit, and not
      # by memory. A whole batch of stacks may have failed.
      NEARLY = 0.9
      # Descriptors for other uses than client connections: listeners, pollers, logs, files.
      DESCRIPTORS_RESERVED = 128

      # A worker's own memory beside what it shares with its parent, and a suspended fiber's. Both
      # are lower bounds, those of an almost empty application.
      WORKER_BYTES = 5 << 20
      FIBER_BYTES = 13 << 10
      MB = 1 << 20

      # Ruby's messages when the kernel has no map for a fiber's stack (cont.c, fiber_pool_expand).
      NO_STACK = /can't (?:set a guard page|alloc machine stack)/

      # @param error [FiberError] raised when a fiber could not be started
      # @return [FiberError] the same, or one that names the fix when the map limit is the reason
      def self.explain(error)
        return error unless no_stack?(error)

        without_hooks { new(nil).no_stack(error) }
      end

      # @param error [FiberError]
      # @return [Boolean] whether the fiber could not be started for lack of a stack
      def self.no_stack?(error)
        NO_STACK.match?(error.message)
      end

      # Runs the block without scheduler hooks. A hook of Ruby 3.4 may start a thread to read a
      # file, and without maps a thread has no stack either.
      def self.without_hooks(&block)
        Fiber.respond_to?(:blocking) ? Fiber.blocking { block.call } : block.call
      end
      private_class_method :without_hooks

      # @param config [Config, nil]
      # @param proc_root [String]
      # @param process [Module] has getrlimit and setrlimit
      # @param cgroup [#memory_bytes]
      def initialize(config, proc_root: "/proc", process: ::Process, cgroup: Cgroup.new)
        @config = config
        @proc_root = proc_root
        @process = process
        @cgroup = cgroup
      end

      # @return [void]
      # @raise [StartError] when the map limit is too low for the fibers
      def check_fibers
        return if maps_max.nil? || maps_needed(@config.fibers) <= maps_max

        needed = maps_needed(@config.fibers)
        raise StartError, "#{@config.fibers} fibers need about #{needed} memory maps, " \
                          "vm.max_map_count is #{maps_max}: use -f #{fibers_allowed} or fewer, " \
                          "or raise it: sysctl -w vm.max_map_count=#{needed}"
      end

      # @param error [FiberError]
      # @return [FiberError]
      def no_stack(error)
        return error unless maps_max && maps_used + MAPS_RESERVED > maps_max * NEARLY

        FiberError.new(
          "#{error.message}: no memory map is left for another fiber (each takes " \
          "#{MAPS_PER_FIBER}; #{maps_used} are in use, vm.max_map_count is #{maps_max}): " \
          "run fewer at once (NB::FiberPool, -f), or raise it: " \
          "sysctl -w vm.max_map_count=#{maps_max * 4}"
        )
      end

      # Raises the soft descriptor limit to the hard one. At its limit a server refuses clients.
      # @return [Array<String>] one line when the hard limit too is below the configuration's need
      def raise_descriptors
        soft, hard = @process.getrlimit(:NOFILE)
        soft = raised(soft, hard) if soft < hard
        connections = @config.settings.fetch(:connections_max)
        needed = connections + @config.fibers + DESCRIPTORS_RESERVED
        return [] if soft >= needed

        ["#{soft} descriptors are allowed; #{connections} connections with #{@config.fibers} " \
         "requests may need #{needed}: raise the hard limit (ulimit -Hn #{needed}, " \
         "LimitNOFILE=#{needed} of systemd, --ulimit nofile=#{needed} of docker)"]
      end

      # @param workers [Integer] processes
      # @return [Array<String>] one line when they need more than the control group allows
      def tight_memory(workers)
        allowed = @cgroup.memory_bytes
        needed = workers * (WORKER_BYTES + (@config.fibers * FIBER_BYTES))
        return [] if allowed.nil? || needed <= allowed

        count = "#{workers} workers with #{@config.fibers} fibers each" if workers > 1
        ["#{count || "#{@config.fibers} fibers"} need at least #{needed / MB} MB; the control " \
         "group allows #{allowed / MB} MB, and the kernel kills processes above it: " \
         "use fewer#{" -w or" if workers > 1} -f, or give the container more memory"]
      end

      private

      # macOS refuses values above kern.maxfilesperproc, although its hard limit is infinity.
      def raised(soft, hard)
        @process.setrlimit(:NOFILE, hard, hard)
        hard
      rescue SystemCallError, RangeError
        soft
      end

      def maps_needed(fibers)
        (stacks(fibers) * MAPS_PER_FIBER) + maps_used + MAPS_RESERVED
      end

      # Number of stacks after so many fibers have run at once.
      def stacks(fibers)
        return (fibers.to_f / BATCH_MAX).ceil * BATCH_MAX if fibers > BATCH_MAX

        size = BATCH_MIN
        size *= 2 while size < fibers
        size
      end

      def fibers_allowed
        fibers = (1..maps_max / MAPS_PER_FIBER)
        first_bad = fibers.bsearch { |count| maps_needed(count) > maps_max }
        [first_bad.to_i - 1, 1].max
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
