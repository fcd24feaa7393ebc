# frozen_string_literal: true

# An exception as a log shows it: class, message and trace, of it and then of each cause, bounded.

require "neverblock/errors/causes"

module NeverBlock
  class Log
    class Trace
      # A deep framework has about 100 lines; a runaway recursion has 10,000.
      LINES_MAX = 150

      Error = Struct.new(:class_name, :message, :lines)

      include Enumerable

      # @param exception [Exception]
      def initialize(exception)
        @exception = exception
      end

      # @yieldparam error [Error] the exception, then its cause, and so on
      def each
        Causes.of(@exception).each { |exception| yield Error.new(exception.class.to_s, message_of(exception), lines_of(exception)) }
      end

      private

      # An application's exception class may raise in its own #message.
      def message_of(exception)
        exception.message.to_s
      rescue StandardError => e
        "(its message raised #{e.class})"
      end

      def lines_of(exception)
        lines = exception.backtrace || []
        lines.size > LINES_MAX ? [*lines.first(LINES_MAX), "... #{lines.size - LINES_MAX} more"] : lines
      end
    end
  end
end
