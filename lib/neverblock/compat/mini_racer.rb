# frozen_string_literal: true

# A call of a context keeps something for its thread while attached functions run:
#
#   before 0.18   V8 remembers for each thread and isolate the limit of the stack on which the
#                 thread first entered the isolate (StackGuard, PerIsolateThreadData). A fiber has a
#                 stack of its own. Another fiber of the thread that enters the isolate is beyond
#                 that limit: "RangeError: Maximum call stack size exceeded".
#   from 0.18 on  V8 has a native thread. Between it and the caller one message is under way at a
#                 time, under a recursive mutex (rr_mtx). Another fiber of the thread passes the
#                 mutex and takes an answer that is not its own.
#
# So a context that requests share, such as ExecJS's, failed. Here such a call runs on a plain
# thread, and the calling fiber parks. Attached functions run there too, on behalf of the request:
# what it keeps by thread or by request, and in Thread.current[], is the same. A deadline or the end
# of the request waits for the end of the call, since V8 itself cannot be ended half way.

require "neverblock/compat/apart"

module NeverBlock
  module Compat
    module MiniRacer
      # Methods that enter an isolate before 0.18, by class.
      ENTERING = {
        Context: %i[initialize eval call attach dispose write_heap_snapshot],
        Isolate: %i[initialize idle_notification low_memory_notification pump_message_loop],
        Snapshot: %i[initialize warmup!]
      }.freeze
      # Methods that talk to the thread of V8. #stop and #dispose end what others run.
      TALKING = {
        Context: %i[attach call call_await eval eval_await heap_snapshot heap_stats
                    low_memory_notification perform_microtask_checkpoint pump_message_loop]
      }.freeze

      class << self
        # Installs it once, when mini_racer is loaded.
        # @return [void]
        def apply
          return unless defined?(::MiniRacer::Context)

          own_thread = !::MiniRacer::Context.private_method_defined?(:eval_unsafe)
          (own_thread ? TALKING : ENTERING).each do |name, methods|
            klass = ::MiniRacer.const_get(name)
            methods = methods.select { |method| has?(klass, method) }
            Apart.wrap(klass, methods) { |object, call| apart(object, &call) }
          end
        end

        # Runs the block on a thread's own stack. Fibers that use the same object do so in turn, so
        # that they do not take a thread each to wait for its lock.
        def apart(object, &block)
          return yield unless Apart.needed?
          return Apart.run(block) unless Compat.scheduler # it may not park

          turn = object.instance_variable_get(:@neverblock_turn) ||
                 object.instance_variable_set(:@neverblock_turn, Thread::Mutex.new)
          turn.synchronize { Apart.run(block) }
        end

        private

        def has?(klass, method)
          klass.method_defined?(method) || klass.private_method_defined?(method)
        end
      end
    end
  end
end
