# frozen_string_literal: true

# The log's view of an exception: class, message and backtrace of it and of each cause, bounded.

require "neverblock/errors/causes"

module NeverBlock
  class Log
    class Trace
      # Lines kept of a backtrace. A deep framework has about 100, an endless recursion 10,000.
      LINES_MAX = 150

      Error = Struct.new(:class_name, :message, :lines)

      include Enumerable

      # @param exception [Exception]
      def initialize(exception)
        @exception = exception
      end

      # @yieldparam error [Error] the exception, then each cause
      def each
        Causes.of(@exception).each do |exception|
          yield Error.new(exception.class.to_s, message_of(exception), lines_of(exception))
        end
      end

      private

      # An exception's own #message may raise.
      def message_of(exception)
        exception.message.to_s
      rescue StandardError => e
        "(its message raised #{e.class})"
      end

      def lines_of(exception)
        lines = exception.backtrace || []
        return lines if lines.size <= LINES_MAX

        [*lines.first(LINES_MAX), "... #{lines.size - LINES_MAX} more"]
      end
    end
  end
end
