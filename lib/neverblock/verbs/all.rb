# frozen_string_literal: true

# NB.all: runs several callables at once and ends when all of them have ended.

require "neverblock/errors"
require "neverblock/errors/backtrace"
require "neverblock/verbs/arguments"
require "neverblock/verbs/deadline"
require "neverblock/scheduler"
require "neverblock/verbs/blocking_mode"
require "neverblock/verbs/all/group"

module NeverBlock
  # Calls the callables at once, each in a fiber of its own, and parks this fiber until all have
  # ended. Each callable is a task.
  #
  # The first error of a task cancels the others: Cancelled is raised in their waits, or in their
  # next wait. Their `ensure` blocks run and are waited for. Then the error is raised here. A
  # `throw` in a task goes on here as well.
  #
  # What ends this fiber's own wait (a deadline, a Timeout, Cancelled) cancels the tasks too. It has
  # precedence over a task's error, and each new one cancels the remaining tasks again.
  #
  # A cancel also ends a wait in a fiber that a task itself has resumed (Fiber.new). Tasks have the
  # caller's deadline and its Fiber storage (Ruby 3.2 and later).
  #
  #   user, orders = NB.all(-> { api.user(id) }, -> { api.orders(id) })
  #   pages = NB.all(*urls, limit: 10) { |url| Net::HTTP.get(URI(url)) }
  #
  # On a thread without a scheduler it runs an event loop of its own until the tasks have ended.
  # Where fibers cannot park (NB.neverblock(false), an Enumerator's body) it calls the tasks one
  # after the other.
  # @param callables [Array<#call>] the tasks; with a block, the arguments that the block is called
  #   with, one for each task. `break` in the block cancels the others and gives its value.
  # @param limit [Integer, nil] most tasks at once; nil: no limit
  # @return [Array] the values, in the order of the arguments
  # @raise [TypeError] when one cannot be called, such as a list that was given without `*`
  # @raise [ArgumentError] when `limit` is no Integer of at least 1, and for other keywords
  def self.all(*callables, limit: nil, **unknown, &block)
    Arguments.refuse_keywords("NB.all", unknown, %w[limit]) unless unknown.empty?
    unless limit.nil? || (limit.is_a?(Integer) && limit >= 1)
      raise ArgumentError, "limit: is an Integer of at least 1, not #{limit.inspect}",
            Backtrace.of_caller
    end

    odd = callables.find { |callable| !callable.respond_to?(:call) } unless block
    raise TypeError, All.uncallable(odd), Backtrace.of_caller if odd
    return [] if callables.empty?

    All.call(All.tasks(callables, block), limit, breaks: !block.nil?)
  end

  module All
    class << self
      # @return [String] what is said of an argument that cannot be called
      def uncallable(odd)
        mend = odd.is_a?(Enumerable) ? "write NB.all(*list)" : "with a block it takes anything"
        "NB.all takes what can be called, got #{odd.inspect}; #{mend}"
      end

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

      # What is raised into the thread while the loop runs (Thread#raise, Timeout, a signal) is
      # raised in the fiber that waits for the tasks. When the loop is left otherwise (Thread#kill,
      # the `throw` of Ruby 3.1's Timeout), Cancelled is raised there.
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
      rescue Exception => e # rubocop:disable Lint/RescueException -- raised in the waiting fiber
        raise unless fiber.alive?

        hand(scheduler, fiber, e)
        retry
      end

      # Raises in the fiber as soon as that takes it.
      def hand(scheduler, fiber, error)
        Fiber.schedule { sleep(0) until !fiber.alive? || scheduler.raise_in(fiber, error) }
      end

      # @return [Array] the fiber that calls the block; an Array that its Outcome is added to
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
