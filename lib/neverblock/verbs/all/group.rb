# frozen_string_literal: true

# The tasks of one NB.all and the fiber that waits for them. Everything here runs on one thread, and no fiber of it is switched between two lines but where it waits.

require "neverblock/verbs/run"
require "neverblock/verbs/all/task"

module NeverBlock
  module All
    class Group
      def initialize(callables, limit)
        @callables = callables
        @limit = limit || callables.size
        @tasks = []
        @running = {}.compare_by_identity
        @scheduler = Fiber.scheduler
        @parent = Fiber.current
      end

      # @return [Array] the values
      def run(breaks:)
        begin
          conduct
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised into this fiber's wait: it is raised again when all have ended
          fail_with(e)
        end
        wind_down if @failure
        raise @failure if @from_outside

        @failure ? Outcome.new(nil, @failure).get(breaks: breaks) : @tasks.map(&:value)
      end

      # A task has ended.
      def ended(task)
        @running.delete(task)
        @failure, @from_outside = task.error, false if outranked_by?(task)
        @scheduler.unblock(self, @parent)
      end

      private

      def conduct
        until @failure || (@running.empty? && @tasks.size == @callables.size)
          if @running.size < @limit && @tasks.size < @callables.size
            start
          else
            @scheduler.block(self, nil)
          end
        end
      end

      def start
        task = Task.new(self, @callables[@tasks.size])
        @tasks << task
        @running[task] = true
        task.start
      ensure
        @running.delete(task) unless task&.started?
      end

      # Each new reason cancels anew what has not ended, so that an `ensure` that waits for ever is subject to the deadlines further out.
      def wind_down
        @running.each_key { |task| task.cancel(@failure) } unless @failure.is_a?(Run::Stopped) # that one NB.run raises in every fiber itself
        @scheduler.block(self, nil) until @running.empty?
      rescue Exception => e # rubocop:disable Lint/RescueException -- as in run
        fail_with(e)
        retry
      end

      # What is raised into this fiber outranks any task's error: were it dropped, the deadline it came from would be lost.
      def fail_with(error)
        kept = @failure if @from_outside || !@failure.is_a?(StandardError)
        error = Outcome.weightier(kept, error) if kept
        @from_outside = true unless error.equal?(@failure)
        @failure = error
      end

      # The first error of a task counts; but one that ends more than an error.
      def outranked_by?(task)
        error = task.error
        return false if error.nil? || (task.cancelled? && error.is_a?(Cancelled))

        @failure.nil? || (!error.is_a?(StandardError) && @failure.is_a?(StandardError))
      end
    end
  end
end
