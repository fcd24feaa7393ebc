# frozen_string_literal: true

# Before Ruby 3.3 Enumerator#next runs the enumerator's body in a blocking fiber, which no hook
# reaches. Its waits block the thread, forever when they wait for another fiber of that thread.
# Feature #19141; enumerator.c, next_init. Here, in a fiber of our scheduler, the body runs in a
# fiber that is not blocking. An enumerator that was begun elsewhere goes on as it was begun.

require "neverblock/compat/enumerator/cursor"

module NeverBlock
  module Compat
    module EnumeratorNext
      def next
        cursor = neverblock_cursor or return super
        values = cursor.take
        values.size > 1 ? values : values.first
      end

      def peek
        cursor = neverblock_cursor or return super
        values = cursor.peek
        values.size > 1 ? values : values.first
      end

      def next_values
        neverblock_cursor&.take || super
      end

      def peek_values
        neverblock_cursor&.peek || super
      end

      def feed(value)
        cursor = neverblock_cursor
        cursor ? cursor.feed(value) : super
      end

      def rewind
        @neverblock_cursor = nil if defined?(@neverblock_cursor)
        super
      end

      private

      def initialize_copy(other)
        super
        return unless defined?(@neverblock_cursor) && @neverblock_cursor
        raise TypeError, "can't copy execution context" unless @neverblock_cursor.ended?

        @neverblock_cursor = nil
      end

      # @return [Cursor, nil] nil: Ruby's own code is to be used
      def neverblock_cursor
        return @neverblock_cursor if defined?(@neverblock_cursor) && @neverblock_cursor
        return nil unless Compat.scheduler && !frozen?

        dup # raises TypeError when it was begun elsewhere
        @neverblock_cursor = Cursor.new(self)
      rescue TypeError
        nil
      end
    end

    Enumerator.prepend(EnumeratorNext)
  end
end
