# frozen_string_literal: true

module NeverBlock
  module Compat
    # The state that enumerator.c keeps for an Enumerator whose elements are taken one by one.
    #
    # A fiber that computes in an Enumerator is mostly between two fibers when its time slice ends.
    # No fiber may be preempted there while a switch passes it something (binding/fibers/frames.c).
    # So here no switch passes anything, neither elements nor exceptions, and what this file calls
    # may be preempted at any time. Changes must keep that property.
    class Cursor
      # @param enumerator [Enumerator]
      def initialize(enumerator)
        @enumerator = enumerator
        @fiber = @ahead = @ended = @fed = @failed = nil
        @told = false
      end

      # Takes the next element. May park, where the body waits.
      # @raise [StopIteration] with the result of the body
      def take
        values = peek
        @ahead = nil
        values
      end

      # As #take, but the element stays.
      # @return [Array]
      def peek
        go_on unless @ahead || @ended
        return @ahead if @ahead

        @told = true
        raise @ended
      end

      # @return [Boolean] whether StopIteration was raised
      def ended?
        @told
      end

      # Sets what the body's next yield returns.
      def feed(value)
        raise TypeError, "feed value already set" if @fed

        @fed = [value]
        nil
      end

      private

      # A body that has raised begins again, as in enumerator.c.
      def go_on
        @fiber = fiber unless @fiber&.alive?
        @fiber.resume
        return unless @failed

        failed = @failed
        @failed = nil
        raise failed
      end

      # One that is left half way keeps nothing of the fiber that had its stack before.
      def fiber
        Fiber.new(blocking: false, &Scheduler.on_clean_stack { run })
      end

      def run
        result = @enumerator.each do |*values|
          @ahead = values
          Fiber.yield
          @fed && take_fed
        end
        @ended = Scheduler.stop_iteration(result)
      rescue Exception => e # rubocop:disable Lint/RescueException -- raised again in go_on
        @failed = e
      end

      def take_fed
        fed = @fed.first
        @fed = nil
        fed
      end
    end
  end
end
