# frozen_string_literal: true

module NeverBlock
  module Compat
    # What enumerator.c keeps for an enumerator whose elements are asked for one by one. A fiber that computes in an Enumerator is mostly between two fibers when its
    # slice ends, and no fiber may be left there that is just being given something (binding/fibers/frames.c). So nothing is handed over by a switch here, neither elements
    # nor exceptions: whatever this file calls may be left at any time. Keep it so.
    class Cursor
      # @param enumerator [Enumerator]
      def initialize(enumerator)
        @enumerator = enumerator
        @fiber = @ahead = @ended = @fed = @failed = nil
        @told = false
      end

      # @return [Array] the arguments of the next yield
      # @raise [StopIteration] with the result of the body
      def take
        values = peek
        @ahead = nil
        values
      end

      # @return [Array]
      def peek
        go_on unless @ahead || @ended
        return @ahead if @ahead

        @told = true
        raise @ended
      end

      # Has it said so?
      def ended?
        @told
      end

      # What the body's next yield returns.
      def feed(value)
        raise TypeError, "feed value already set" if @fed

        @fed = [value]
        nil
      end

      private

      # A body that has raised is begun with again, as in enumerator.c.
      def go_on
        @fiber = Fiber.new(blocking: false) { run } unless @fiber&.alive?
        @fiber.resume
        return unless @failed

        failed = @failed
        @failed = nil
        raise failed
      end

      def run
        result = @enumerator.each do |*values|
          @ahead = values
          Fiber.yield
          @fed && take_fed
        end
        @ended = Ended.of(result)
      rescue Exception => e # rubocop:disable Lint/RescueException -- raised again where the element was asked for
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
