# frozen_string_literal: true

# V8 remembers for each thread and isolate the limit of the stack on which the thread first entered
# the isolate (StackGuard, PerIsolateThreadData). A fiber has a stack of its own. Another fiber of
# the thread that enters the isolate is beyond that limit: "RangeError: Maximum call stack size
# exceeded". A context that requests share, such as ExecJS's, failed so for all but the first.
#
# Here what enters an isolate runs on the stack of a plain thread, and the calling fiber parks.
# Attached functions run there too, on behalf of the request: what it keeps by thread or by request,
# and in Thread.current[], is the same. A deadline or the end of the request waits for the end of
# the call, since V8 itself cannot be ended half way. mini_racer before 0.18: from there on V8 has a
# native thread of its own.

require "neverblock/compat/apart"

module NeverBlock
  module Compat
    module MiniRacer
      # Methods that enter an isolate, by class.
      ENTERING = {
        Context: %i[initialize eval call attach dispose write_heap_snapshot],
        Isolate: %i[initialize idle_notification low_memory_notification pump_message_loop],
        Snapshot: %i[initialize warmup!]
      }.freeze

      class << self
        # Installs it once, when mini_racer is loaded.
        # @return [void]
        def apply
          return unless defined?(::MiniRacer::Context)
          return unless ::MiniRacer::Context.private_method_defined?(:eval_unsafe)

          ENTERING.each do |name, methods|
            Apart.wrap(::MiniRacer.const_get(name), methods) { |object, call| apart(object, &call) }
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
      end
    end
  end
end
