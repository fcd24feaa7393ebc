# frozen_string_literal: true

# The tasks of one NB.all and the fiber that waits for them. All of this runs on one thread, and
# fibers are switched only where the code waits.

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

      # Starts the tasks and parks the fiber until all have ended.
      # @return [Array] the values
      def run(breaks:)
        begin
          conduct
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised when all have ended
          fail_with(e)
        end
        wind_down if @failure
        raise @failure if @from_outside

        @failure ? Outcome.new(nil, @failure).get(breaks: breaks) : @tasks.map(&:value)
      end

      # Called by each task at its end.
      def ended(task)
        @running.delete(task)
        @failure, @from_outside = task.error, false if outranked_by?(task)
        @scheduler.unblock(self, @parent) if over? || startable?
      end

      private

      def conduct
        startable? ? start : wait until over?
      end

      # Whether nothing is left to wait for, or tasks have to be cancelled.
      def over?
        @failure || (@running.empty? && @tasks.size == @callables.size)
      end

      def startable?
        @running.size < @limit && @tasks.size < @callables.size
      end

      def wait
        Scheduler.next_wait(:fibers)
        @scheduler.block(self, nil)
      end

      def start
        task = Task.new(self, @callables[@tasks.size])
        @tasks << task
        @running[task] = true
        task.start
      ensure
        give_up(task) unless task&.started?
      end

      # An exception has left Fiber.schedule.
      def give_up(task)
        @running.delete(task)
        task&.abandon
      end

      # Cancels the tasks and waits for their end. Each further exception raised into this fiber
      # cancels them again, so that a wait in an `ensure` is subject to outer deadlines too.
      # NB.run itself raises Run::Stopped in every fiber.
      def wind_down
        unless @failure.is_a?(Run::Stopped)
          @running.each_key { |task| task.cancel(@failure) }
        end
        wait until @running.empty?
      rescue Exception => e # rubocop:disable Lint/RescueException -- as in run
        fail_with(e)
        retry
      end

      # An exception raised into this fiber has precedence over a task's error: it may be that of
      # an outer deadline.
      def fail_with(error)
        earlier = @failure if @from_outside || !@failure.is_a?(StandardError)
        error = Outcome.weightier(earlier, error) if earlier
        @from_outside = true unless error.equal?(@failure)
        @failure = error
      end

      # The first error counts, but an exception that is no StandardError replaces one that is.
      def outranked_by?(task)
        error = task.error
        return false if error.nil? || (task.cancelled? && error.is_a?(Cancelled))

        @failure.nil? || (!error.is_a?(StandardError) && @failure.is_a?(StandardError))
      end
    end
  end
end
