# frozen_string_literal: true

# env["rack.errors"]: the methods that the Rack specification requires of an error stream (puts,
# write, flush), and those that loggers use. It writes to the server's log, so that neither an
# application that logs much nor a slow reader blocks a request.

require "neverblock/log/characters"

module NeverBlock
  class ErrorStream
    # @param log [Log] anything with #write
    def initialize(log)
      @log = log
    end

    # Writes strings as they are. Never blocks and never parks. A text that the log has no room for
    # is dropped as a whole, and counted.
    # @return [Integer] bytes of the strings
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

    # As IO#puts: each string on its own line, arrays flattened, all of it in one write. Lines in
    # UTF-16 and UTF-32 are written as UTF-8.
    # @return [nil]
    def puts(*strings)
      lines = strings.flatten.map do |string|
        text = string.to_s
        text = Log::Characters.utf8(text) unless text.encoding.ascii_compatible?
        text.end_with?("\n") ? text : "#{text}\n"
      end
      write(lines.empty? ? "\n" : joined(lines))
      nil
    end

    # Does nothing: the log's own thread writes without delay, and the process flushes it at its
    # end.
    # @return [self]
    def flush
      self
    end

    # @return [true]
    def sync
      true
    end

    # Loggers set it. It has no effect.
    def sync=(_value); end

    # @return [false]
    def tty?
      false
    end
    alias isatty tty?

    # Logger requires a device that can be closed. This one belongs to the server and stays open.
    # (Rack SPEC: close must never be called.)
    # @return [nil]
    def close; end

    private

    # Strings whose encodings are not compatible are joined as bytes, so that logging never raises.
    def joined(strings)
      strings.map { |string| string.to_s.b }.join
    end
  end
end
