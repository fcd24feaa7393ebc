# frozen_string_literal: true

# env["rack.errors"]: what the Rack specification asks of an error stream (puts, write, flush) and what loggers use beside it, written through the
# server's log, so that an application that logs much, or a reader that reads slowly, never blocks a request.

module NeverBlock
  class ErrorStream
    # @param log [Log] anything with #write
    def initialize(log)
      @log = log
    end

    # Writes strings as they are. Never blocks and never parks the fiber; what the log has no room for is dropped whole and counted.
    # @return [Integer] bytes
    def write(*strings)
      text = strings.size == 1 ? strings.first.to_s : joined(strings)
      @log.write(text) unless text.empty?
      text.bytesize
    end

    # @return [self]
    def <<(string)
      write(string)
      self
    end

    # @return [nil]
    def print(*strings)
      write(*strings)
      nil
    end

    # @return [nil]
    def printf(pattern, *values)
      write(format(pattern, *values))
      nil
    end

    # As IO#puts: each on a line of its own, arrays flattened, all handed over together.
    # @return [nil]
    def puts(*strings)
      lines = strings.flatten.map { |string| string.to_s.end_with?("\n") ? string.to_s : "#{string}\n" }
      write(lines.empty? ? "\n" : joined(lines))
      nil
    end

    # Nothing waits here: the log's own thread writes what it is given at once, and the process flushes it before it ends.
    # @return [self]
    def flush
      self
    end

    # @return [true]
    def sync
      true
    end

    # Loggers set it; it is always true.
    def sync=(_value); end

    # @return [false]
    def tty?
      false
    end
    alias isatty tty?

    # Logger wants a device that can be closed. This one belongs to the server and stays open (Rack SPEC: close must never be called).
    # @return [nil]
    def close; end

    private

    # Strings of encodings that do not go together are joined as bytes; a log line is no place to raise.
    def joined(strings)
      strings.map { |string| string.to_s.b }.join
    end
  end
end
