# frozen_string_literal: true

# Stack sizes of request fibers. By default Ruby gives a fiber 128 KB of VM stack and 512 KB of
# machine stack, and a thread 1 MB each. It reads the sizes from the environment once, at its start
# (vm.c, ruby_thread_init_stack; cont.c, fiber_pool_initialize). So the command starts itself again
# with a thread's sizes before anything is loaded. Stacks are address space; the kernel gives memory
# only for pages that are used. The malloc(3) arenas of threads are reduced at the same time,
# because they take address space too. See docs/decisions/0012.
#
# This file requires nothing: it runs before the gems of the application are set up.

module NeverBlock
  module Boot
    module Stacks
      # Bytes. The machine stack is 12 KB under 1 MB, so that a fiber's stacks and their guard page
      # are 510 pages. That is less than a huge page, which the kernel might give as a whole
      # (transparent_hugepage). It is no power of two either: then all fibers' stacks would share
      # the same lines of the processor's cache.
      SIZES = {
        "RUBY_FIBER_VM_STACK_SIZE" => 1_048_576,
        "RUBY_FIBER_MACHINE_STACK_SIZE" => 1_036_288
      }.freeze
      # glibc reserves 64 MB of address space for each thread that allocates, in up to 8 arenas for
      # each processor (mallopt(3), M_ARENA_MAX). Ruby's threads allocate one at a time, so fewer
      # arenas are enough, and under a limit of address space (ulimit -v) the stacks get that room.
      ARENAS = { "MALLOC_ARENA_MAX" => "2" }.freeze
      # Names the variables set here, so that they can be removed before the application sees them.
      MARK = "NEVERBLOCK_STACKS"
      PARAMETERS = {
        "RUBY_FIBER_VM_STACK_SIZE" => :fiber_vm_stack_size,
        "RUBY_FIBER_MACHINE_STACK_SIZE" => :fiber_machine_stack_size
      }.freeze
      private_constant :PARAMETERS

      class << self
        # Gives this process's fibers their sizes: starts it again with the variables, or, when that
        # has been done, removes the variables from the environment.
        # @yield starts this process again with the given variables; does not return
        def enter
          return take_away if ENV.key?(MARK)

          yield variables unless enough?
        rescue SystemCallError
          nil # #notice tells about it
        end

        # @param environment [Hash{String => String}] of a process; variables it has are left alone
        # @return [Hash{String => String}] variables to start a process with
        def variables(environment = ENV)
          all = { **SIZES.transform_values(&:to_s), **arenas(environment) }
          missing = all.reject { |name, _| environment.key?(name) }
          missing.empty? ? {} : { **missing, MARK => missing.keys.join(",") }
        end

        # @return [String, nil] a log line when fibers have smaller stacks than threads
        def notice
          return if enough?

          size = RubyVM::DEFAULT_PARAMS[:fiber_vm_stack_size] / 1024
          settings = SIZES.map { |name, bytes| "#{name}=#{bytes}" }.join(" ")
          "fibers have only #{size} KB of Ruby stack, less than a thread, so that deep calls may " \
            "fail: start by `neverblock`, or with #{settings}"
        end

        private

        def arenas(environment)
          environment["GLIBC_TUNABLES"].to_s.include?("arena_max") ? {} : ARENAS
        end

        # Whether every size is large enough, or set by the user.
        def enough?
          return true unless defined?(RubyVM::DEFAULT_PARAMS)

          SIZES.all? do |name, bytes|
            ENV.key?(name) || RubyVM::DEFAULT_PARAMS[PARAMETERS[name]] >= bytes
          end
        end

        def take_away
          ENV.delete(MARK).split(",").each { |name| ENV.delete(name) }
        end
      end
    end
  end
end
