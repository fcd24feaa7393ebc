# frozen_string_literal: true

# NB.all: several things at once, and none of them left behind.

require "neverblock/errors"
require "neverblock/verbs/deadline"
require "neverblock/scheduler"
require "neverblock/verbs/blocking_mode"
require "neverblock/verbs/all/group"

module NeverBlock
  # Calls the callables at once, each in a fiber of its own, and parks this fiber until all have ended. The first error cancels the rest: Cancelled is
  # raised in their waits (what is not waiting, at the next), their `ensure` blocks run and are waited for, and then the error is raised here. So does what
  # ends this fiber's own wait: a deadline, a Timeout, being cancelled itself; it outranks a task's error, and each new one cancels anew what has not
  # ended. `throw` in a task goes on here. A wait in a fiber that a task has resumed itself (Fiber.new) is not ended, only its next own one. Tasks
  # have the caller's Fiber storage (Ruby 3.2 and later) and its deadline.
  #
  #   user, orders = NB.all(-> { api.user(id) }, -> { api.orders(id) })
  #   pages = NB.all(*urls, limit: 10) { |url| Net::HTTP.get(URI(url)) }
  #
  # On a thread without a scheduler it makes a loop of its own for the time. Where fibers cannot park (NB.neverblock(false), an Enumerator's body), it calls them one
  # after the other.
  # @param callables [Array<#call>] or, with a block, what the block is called with one by one; `break` in it cancels the rest and gives its value
  # @param limit [Integer, nil] most tasks at once; nil: all
  # @return [Array] the values, in the order of the arguments
  # @raise [TypeError] when one cannot be called
  # @raise [ArgumentError] when `limit` is no Integer of at least 1
  def self.all(*callables, limit: nil, &block)
    raise ArgumentError, "limit: is an Integer of at least 1, not #{limit.inspect}" unless limit.nil? || (limit.is_a?(Integer) && limit >= 1)

    odd = callables.find { |callable| !callable.respond_to?(:call) } unless block
    raise TypeError, "NB.all takes what can be called, got #{odd.inspect}; with a block it takes anything" if odd
    return [] if callables.empty?

    All.call(All.tasks(callables, block), limit, breaks: !block.nil?)
  end

  module All
    class << self
      # @return [Array<#call>]
      def tasks(callables, block)
        block ? callables.map { |argument| -> { block.call(argument) } } : callables
      end

      def call(tasks, limit, breaks:)
        return Group.new(tasks, limit).run(breaks: breaks) if NeverBlock.neverblocking?
        return tasks.map(&:call) if Fiber.scheduler

        in_own_loop { Group.new(tasks, limit).run(breaks: breaks) }
      end

      private

      # What reaches the thread while the loop has it (Thread#raise, Timeout, a signal) is handed to the fiber that waits for the tasks; so is Cancelled, when
      # the loop is left otherwise (Thread#kill, the throw that Ruby 3.1's Timeout makes of it).
      def in_own_loop(&block)
        Fiber.set_scheduler(scheduler = Scheduler.new)
        fiber, outcome = beside(Deadline.current, &block)
        run_out(scheduler, fiber)
        outcome.first.get(breaks: false)
      ensure
        if fiber&.alive?
          hand(scheduler, fiber, Cancelled.new)
          run_out(scheduler, fiber)
        end
        Fiber.set_scheduler(nil)
      end

      def run_out(scheduler, fiber)
        scheduler.run
      rescue Exception => e # rubocop:disable Lint/RescueException -- as above
        raise unless fiber.alive?

        hand(scheduler, fiber, e)
        retry
      end

      def hand(scheduler, fiber, error)
        Fiber.schedule { sleep(0) until !fiber.alive? || scheduler.raise_in(fiber, error) }
      end

      # @return [Array] the fiber that calls the block, and where its outcome will be
      def beside(deadline, &block)
        outcome = []
        fiber = Fiber.schedule do
          Deadline.inherit(deadline)
          outcome << Outcome.of(&block)
        end
        [fiber, outcome]
      end
    end
  end
end
