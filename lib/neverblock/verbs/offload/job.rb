# frozen_string_literal: true

# One call of NB.offload. Its state is read and written under the pool's lock; its outcome goes to the caller through a queue, which wakes the fiber from another
# thread and loses nothing when it comes before the fiber waits.

require "neverblock/verbs/outcome"

module NeverBlock
  module Offload
    class Job
      # :waiting, :running, :ended
      attr_accessor :state
      # The worker that runs it.
      attr_accessor :thread

      # @param root [Fiber, nil] in whose name it is done; nil: in nobody's
      def initialize(block, root: nil)
        @block = block
        @root = root
        @state = :waiting
        @done = Thread::Queue.new
        @fiber = Fiber.current # whose stack the queue looks at when the job ends; it may be dropped where it waits (a loop whose thread was killed)
        @deadline = Deadline.current
        @storage = Fiber.current.storage || {} if storage?
      end

      # On a worker's thread. In a fiber of its own, so that no fiber-local and no storage outlives it.
      def perform
        outcome = nil
        fiber = Fiber.new(**options) { outcome = call }
        fiber.resume
        fiber.raise(FiberError, "Fiber.yield in offloaded work has nowhere to go") if fiber.alive?
        outcome || Outcome.new(nil, Error.new("the offloaded work has left its fiber and not come back"))
      rescue FiberError => e
        Outcome.new(nil, e)
      end

      # Gives the caller what became of it.
      def finish(outcome)
        @done << outcome
      end

      # In the caller's fiber.
      # @return [Outcome]
      def wait
        @done.pop
      end

      private

      def options
        @storage ? { blocking: true, storage: @storage } : { blocking: true }
      end

      # Ruby 3.2's, or that of the gem fiber-storage, which graphql brings and which may be loaded later.
      def storage?
        Fiber.method_defined?(:storage)
      end

      def call
        Deadline.inherit(@deadline)
        Scheduler.act_for(@root) { Outcome.of { Thread.handle_interrupt(Cancelled => :immediate) { @block.call } } }
      end
    end
  end
end
