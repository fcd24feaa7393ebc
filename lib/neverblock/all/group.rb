# frozen_string_literal: true

# The branches of one NB.all and the fiber that waits for them. Everything here runs on one thread, and no fiber of it is switched between two lines but where it waits.

require "neverblock/run"
require "neverblock/all/branch"

module NeverBlock
  module All
    class Group
      # Cancelling a branch that cannot be raised in yet (it was just woken, or a fiber it has resumed waits) is tried again: this often at once, then after these pauses.
      TRIES_AT_ONCE = 8
      PAUSE_S = 0.001
      PAUSE_MAX_S = 0.05
      private_constant :TRIES_AT_ONCE, :PAUSE_S, :PAUSE_MAX_S

      def initialize(callables, limit)
        @callables = callables
        @limit = limit || callables.size
        @branches = []
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

        @failure ? Offload::Outcome.new(nil, @failure).get(breaks: breaks) : @branches.map(&:value)
      end

      # A branch has ended.
      def ended(branch)
        @running.delete(branch)
        fail_with(branch.error, from_outside: false) if outranked_by?(branch)
        @scheduler.unblock(self, @parent)
      end

      private

      def conduct
        until @failure || (@running.empty? && @branches.size == @callables.size)
          if @running.size < @limit && @branches.size < @callables.size
            start
          else
            @scheduler.block(self, nil)
          end
        end
      end

      def start
        branch = Branch.new(self, @callables[@branches.size])
        @branches << branch
        @running[branch] = true
        branch.start
      ensure
        @running.delete(branch) unless branch&.fiber
      end

      def wind_down
        left = @failure.is_a?(Run::Stopped) ? [] : @running.keys # NB.run has told every fiber itself
        until @running.empty?
          left = cancel(left)
          left.empty? ? @scheduler.block(self, nil) : pause
        end
      rescue Exception => e # rubocop:disable Lint/RescueException -- as in run
        fail_with(e)
        retry
      end

      # @return [Array<Branch>] those that are still to be cancelled
      def cancel(branches)
        branches.select { |branch| @running.key?(branch) && !branch.cancel(@scheduler, @failure) }
      end

      def pause
        @tries = (@tries || 0) + 1
        late = @tries - TRIES_AT_ONCE
        @scheduler.kernel_sleep(late.positive? ? [PAUSE_S * late, PAUSE_MAX_S].min : 0)
      end

      # What is raised into this fiber comes from further out than any branch's error: were it dropped, the deadline it came from would be lost. Of several the last
      # comes from the furthest out; but what ends more than an error (Cancelled, exit) stays.
      def fail_with(error, from_outside: true)
        return if @failure && ends_more?(@failure) && !ends_more?(error)

        @failure = error
        @from_outside = from_outside
      end

      # The first error of a branch counts; but one that ends more than an error.
      def outranked_by?(branch)
        error = branch.error
        return false if error.nil? || (branch.cancelled? && error.is_a?(Cancelled))

        @failure.nil? || (ends_more?(error) && !ends_more?(@failure))
      end

      def ends_more?(error)
        !error.is_a?(StandardError)
      end
    end
  end
end
