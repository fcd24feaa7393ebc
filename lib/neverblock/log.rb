# frozen_string_literal: true

# The server's log. The native part (core/base/log.h) takes whole lines and writes them from a thread of its own, so that no reader, however slow,
# ever makes a request wait; this part gives entries their shape. One entry begins with "neverblock: " and never looks like two: what came from
# outside has its control characters escaped, and every further line is indented.

module NeverBlock
  class Log
    PREFIX = "neverblock: "
    # Lines of a trace in one entry. A deep framework has about 100; a runaway recursion has 10,000.
    BACKTRACE_LINES_MAX = 150
    CONTROL = /[\x00-\x08\x0b-\x1f\x7f]/n

    # One line. Never blocks, never parks the fiber, never raises for want of room: what does not fit is dropped and counted.
    # @param message [String]
    # @return [nil]
    def info(message)
      write("#{PREFIX}#{indent(message)}\n")
      nil
    end

    # One line that asks for somebody's attention.
    # @param message [String]
    # @return [nil]
    def warn(message)
      info("warning: #{message}")
    end

    # One entry: the message, the exception's class and message, and its trace with the traces of its causes. Never blocks.
    # @param message [String] what was being done
    # @param exception [Exception, nil]
    # @return [nil]
    def error(message, exception = nil)
      return info(message) unless exception

      write("#{PREFIX}#{indent(message)}: #{describe(exception)}")
      nil
    end

    private

    def describe(exception)
      seen = []
      text = +"".b
      while exception && !seen.include?(exception)
        text << "  caused by " unless seen.empty?
        text << indent("#{exception.class}: #{message_of(exception)}") << "\n" << trace(exception)
        seen << exception
        exception = exception.cause
      end
      text
    end

    # An application's exception class may raise in its own #message.
    def message_of(exception)
      exception.message.to_s
    rescue StandardError => e
      "(its message raised #{e.class})"
    end

    def trace(exception)
      lines = exception.backtrace || []
      shown = lines.first(BACKTRACE_LINES_MAX).map { |line| "    #{escape(line)}\n" }.join
      lines.size > BACKTRACE_LINES_MAX ? "#{shown}    ... #{lines.size - BACKTRACE_LINES_MAX} more\n" : shown
    end

    def indent(text)
      escape(text).gsub(/\n+(?!\z)/n, "\n  ").chomp
    end

    def escape(text)
      text.to_s.b.gsub(CONTROL) { |byte| format("\\x%02x", byte.ord) }
    end
  end
end
