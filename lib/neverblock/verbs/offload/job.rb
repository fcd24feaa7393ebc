# frozen_string_literal: true

# One call of NB.offload. Its state is read and written under the pool's lock. Its outcome goes to
# the caller through a queue, which wakes the fiber from another thread and keeps an outcome that
# comes before the fiber waits.

require "neverblock/verbs/carry"
require "neverblock/verbs/outcome"

module NeverBlock
  module Offload
    class Job
      # @return [Symbol] :waiting, :running or :ended
      attr_accessor :state
      # @return [Thread] the worker that runs it
      attr_accessor :thread

      # @param block [#call]
      # @param root [Fiber, nil] the request fiber that it works for; nil: none
      # @param driver [String, nil] of the database that is waited for; nil: it is another wait
      def initialize(block, root: nil, driver: nil)
        @block = Carry.around(block)
        @driver = driver
        @root = root
        @state = :waiting
        @done = Thread::Queue.new
        # The queue looks at the stack of the waiting fiber when the job ends. So the fiber must not
        # be collected, though nothing else may refer to it (a loop whose thread was killed).
        @fiber = Fiber.current
        @deadline = Deadline.current
        @storage = Fiber.current.storage || {} if storage?
      end

      # Called on a worker's thread. It runs in a fiber of its own, so that no fiber-local and no
      # storage outlives it.
      # @return [Outcome]
      def perform
        outcome = nil
        fiber = Fiber.new(**options) { outcome = call }
        fiber.resume
        if fiber.alive?
          fiber.raise(FiberError, "Fiber.yield in offloaded work has nowhere to go")
        end
        outcome || Outcome.new(nil, Error.new(LOST))
      rescue FiberError => e
        Outcome.new(nil, e)
      end

      # Hands the outcome to the caller. A worker refers to its last job while it waits for the
      # next one; what the job has used may be collected all the same.
      def finish(outcome)
        @done << outcome
        @block = @root = @fiber = @deadline = @storage = nil
      end

      # Called in the caller's fiber. Parks it until #finish.
      # @return [Outcome]
      def wait
        Scheduler.next_wait(@driver ? :database : :offload, @driver)
        @done.pop
      end

      LOST = "the offloaded work has left its fiber and not come back"
      private_constant :LOST

      private

      def options
        @storage ? { blocking: true, storage: @storage } : { blocking: true }
      end

      # Ruby 3.2's, or that of the gem fiber-storage, which graphql requires and which may be loaded
      # later.
      def storage?
        Fiber.method_defined?(:storage)
      end

      def call
        Deadline.inherit(@deadline)
        Scheduler.act_for(@root) do
          Outcome.of { Thread.handle_interrupt(Cancelled => :immediate) { @block.call } }
        end
      end
    end
  end
end
