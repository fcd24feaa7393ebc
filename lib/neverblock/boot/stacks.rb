# frozen_string_literal: true

# How deep a request may go. Ruby gives a fiber 128 KB for its own stack and 512 KB for that of C, a thread 1 MB each; it reads the sizes once, when it starts, from the
# environment (vm.c, ruby_thread_init_stack; cont.c, fiber_pool_initialize). So the command starts itself again with a thread's sizes, before anything is loaded. They
# are address space: the kernel gives memory for the pages that are used. So is what malloc(3) keeps for each thread, of which there is less then. docs/decisions/0012.
#
# Nothing is required here: it runs before the gems of the application are set up.

module NeverBlock
  module Boot
    module Stacks
      # Bytes. The second is 12 KB under 1 MB, so that a fiber's stacks and their guard page are 510 pages: less than a huge page, which the kernel might give whole
      # (transparent_hugepage, always), and no power of two, at which all fibers' stacks would share the same lines of the processor's cache.
      SIZES = { "RUBY_FIBER_VM_STACK_SIZE" => 1_048_576, "RUBY_FIBER_MACHINE_STACK_SIZE" => 1_036_288 }.freeze
      # glibc keeps 64 MB of address space for each thread that allocates, up to 8 for each processor (mallopt(3), M_ARENA_MAX). Ruby's threads allocate one after another:
      # under a limit of address space (ulimit -v) that room is the stacks'.
      ARENAS = { "MALLOC_ARENA_MAX" => "2" }.freeze
      # Names those of the variables that are ours, so that the application and its programs do not see them.
      MARK = "NEVERBLOCK_STACKS"
      PARAMETERS = { "RUBY_FIBER_VM_STACK_SIZE" => :fiber_vm_stack_size, "RUBY_FIBER_MACHINE_STACK_SIZE" => :fiber_machine_stack_size }.freeze
      private_constant :PARAMETERS

      class << self
        # Gives this process's fibers their sizes: by starting it again, from which it does not return, or, when that was done, by taking the variables away.
        # @yield starts this process again, with the variables that it is given; does not return
        # @yieldparam variables [Hash{String => String}]
        # @return [void]
        def enter
          return take_away if ENV.key?(MARK)

          yield variables unless enough?
        rescue SystemCallError
          nil # the log says what that means (notice)
        end

        # @param environment [Hash{String => String}] of a process; what it says itself counts
        # @return [Hash{String => String}] what to start a process with
        def variables(environment = ENV)
          missing = { **SIZES.transform_values(&:to_s), **arenas(environment) }.reject { |name, _| environment.key?(name) }
          missing.empty? ? {} : { **missing, MARK => missing.keys.join(",") }
        end

        # @return [String, nil] a line for the log where requests go less deep than on a thread
        def notice
          return if enough?

          "a request goes less deep here than on a thread (fibers have #{RubyVM::DEFAULT_PARAMS[:fiber_vm_stack_size] / 1024} KB of Ruby's stack): start with " \
            "#{SIZES.map { |name, bytes| "#{name}=#{bytes}" }.join(" ")}, or by `neverblock`"
        end

        private

        def arenas(environment) = environment["GLIBC_TUNABLES"].to_s.include?("arena_max") ? {} : ARENAS

        # As large, or as its user has said.
        def enough?
          !defined?(RubyVM::DEFAULT_PARAMS) || SIZES.all? { |name, bytes| ENV.key?(name) || RubyVM::DEFAULT_PARAMS[PARAMETERS[name]] >= bytes }
        end

        def take_away
          ENV.delete(MARK).split(",").each { |name| ENV.delete(name) }
        end
      end
    end
  end
end
