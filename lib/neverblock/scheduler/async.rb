# frozen_string_literal: true

# `scheduler :async`: Async's own scheduler, tasks and timers on a loop of ours. Async::Scheduler
# takes a selector, which runs its fibers; here that is our loop (AsyncSelector). The hooks of a
# Fiber::Scheduler, which Ruby calls, go to ours as well: sleep, IO, Mutex, Thread#join and the rest
# wait as in any request. docs/decisions/0028.

require "neverblock/scheduler/above"
require "neverblock/scheduler/async_selector"
require "neverblock/pool/fiber_state"
require "neverblock/verbs/carry"

module NeverBlock
  class Scheduler
    class Async < ::Async::Scheduler
      include Above

      # Hooks that Ruby calls, and what this library asks of a scheduler.
      OURS = %i[
        block unblock kernel_sleep io_wait io_read io_write io_pread io_pwrite io_close io_select
        process_wait address_resolve timeout_after fiber_interrupt blocking_operation_wait
        cancellable pin shield yield_lock
      ].freeze
      private_constant :OURS

      OURS.each do |name|
        if Scheduler.method_defined?(name)
          define_method(name) do |*arguments, &block|
            @neverblock.public_send(name, *arguments, &block)
          end
        elsif method_defined?(name)
          undef_method(name)
        end
      end

      # @param neverblock [Scheduler] not run yet
      def initialize(neverblock)
        @neverblock = neverblock
        super(nil, selector: @turns = AsyncSelector.new(neverblock))
        # A scheduler without children ends.
        @server = ::Async::Node.new(self, annotation: "NeverBlock")
      end

      # Serves on the calling fiber until the last request has ended, and stops the tasks that are
      # left then. Called by the executor's thread, again after an error.
      # @return [void]
      def serve
        Pool::FiberState.clear_storage(Fiber.current)
        @neverblock.host(self) do
          run_once until @neverblock.served?
          finish
        end
      end

      # Its tasks are dropped: nobody waits for them any more.
      # @return [void]
      def abandon
        @abandoned = true
      end

      # Hook of Fiber.set_scheduler(nil) and of the thread's end.
      def scheduler_close(error = $!)
        @abandoned ? @selector = nil : super
      end

      # In the child of a fork its fiber goes on without a scheduler.
      # @return [void]
      def leave_in_child
        abandon
        Fiber.current.async_task = nil
      end

      # Hook of Fiber.schedule: the fiber of a new task, which has Async's words.
      # @return [Fiber]
      def fiber(**options, &block)
        super(**options.except(:blocking, :storage), &Carry.scheduled(block))
      end

      # Called by the executor for each request.
      # @return [Fiber] of a new task, which has not begun
      def request_fiber(&body)
        @turns.first_fiber { ::Async::Task.run(self, annotation: "a request", &body) }
      end

      private

      def finish
        @turns.end
        @server.consume
        stop
        Fiber.set_scheduler(nil)
      end
    end
  end
end
