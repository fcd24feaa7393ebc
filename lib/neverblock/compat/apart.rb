# frozen_string_literal: true

# Runs C code that depends on its thread's stack, or keeps a chain of its calls for the thread, on a
# plain thread, and the calling fiber parks. What the request keeps by thread or by request, and in
# Thread.current[], is the same there (Offload::PlainJob). A deadline or the end of the request
# waits for the end of the call.

require "neverblock/verbs/offload"
require "neverblock/verbs/offload/plain_job"

module NeverBlock
  module Compat
    module Apart
      # Marks a class whose methods are wrapped.
      module Entering
      end

      class << self
        # Wraps methods of a class, once.
        # @param klass [Module]
        # @param methods [Array<Symbol>]
        # @yieldparam object [Object] whose method is called
        # @yieldparam call [Proc] does what the method does
        # @yieldreturn what the method returns
        # @return [void]
        def wrap(klass, methods, &around)
          return if klass.include?(Entering)

          klass.prepend(Module.new do
            include Entering

            methods.each do |name|
              define_method(name) do |*arguments, **options, &block|
                around.call(self, -> { super(*arguments, **options, &block) })
              end
            end
          end)
        end

        # @return [Boolean] whether the caller may be in a fiber with a stack of its own
        def needed?
          (Fiber.scheduler || Offload.worker?) && !Offload::PlainJob.here?
        end

        # A call that waits for a thread could hold what the others wait for: there is no bound.
        # @param block [Proc]
        # @return what the block returns
        def run(block)
          root = Scheduler.root
          job = Offload::PlainJob.new(block, root: (root if root.is_a?(Fiber)))
          begin
            Offload.unbounded.call(job, :wait)
          ensure
            job.hand_back
          end
        end
      end
    end
  end
end
