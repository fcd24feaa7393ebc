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
      class << self
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
