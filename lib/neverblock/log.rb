# frozen_string_literal: true

# The server's log. The native part (core/base/log.h) takes whole lines and writes them on a thread
# of its own, so that a slow reader never delays a request. This part makes entries; Log::Text or
# Log::Json formats them. Every entry of the server begins a line.

module NeverBlock
  class Log
    PREFIX = "neverblock: "
    TIME = "%FT%T.%LZ"
  end
end

require "neverblock/log/trace"
require "neverblock/log/text"

module NeverBlock
  class Log
    TEXT = Text.new

    # @param name [Symbol] :text (the default) or :json
    # @return [void]
    def format=(name)
      @format = name == :json ? json : Text.new(@worker)
    end

    # From here on every entry names this worker.
    # @param number [Integer]
    # @return [void]
    def worker=(number)
      @worker = number
      @format = shape.class.new(number)
    end

    # @return [Json] the JSON format, whatever the log's own format is
    def json
      require "neverblock/log/json"
      Json.new(@worker)
    end

    # Never blocks, never parks the fiber, and never raises when the buffer is full: an entry
    # without room is dropped and counted. The same holds for #warn, #error and #request.
    # @param message [String]
    # @param fields [Hash{Symbol => Object}] further members of the JSON object, such as request_id
    # @return [nil]
    def info(message, **fields)
      add(:info, message, nil, fields)
    end

    # An entry of level warning.
    # @param message [String]
    # @return [nil]
    def warn(message, **fields)
      add(:warning, message, nil, fields)
    end

    # An entry with the exception's class and message, and its trace with the traces of its causes.
    # @param message [String] what the server was doing
    # @param exception [Exception, nil]
    # @return [nil]
    def error(message, exception = nil, **fields)
      add(:error, message, exception && Trace.new(exception), fields)
    end

    # An entry for a request that was answered.
    # @param fields [Hash{Symbol => Object}] see RequestLog
    # @param with [Text, Json, nil] the format; nil: the log's own
    # @return [nil]
    def request(fields, with = nil)
      write((with || shape).request(Time.now.utc, fields))
      nil
    end

    # The target of the application's own text (rack.errors): the log itself, or an object that
    # makes an entry of each write where the format is JSON.
    # @return [#write]
    def passages
      shape.is_a?(Text) ? self : Passages.new(self, shape)
    end

    # Text of the application. Each write makes one entry.
    Passages = Struct.new(:log, :shape) do
      # @param text [String]
      # @return [void]
      def write(text)
        line = shape.passage(Time.now.utc, text)
        log.write(line) unless line.empty?
      end
    end

    private

    def shape
      @format || TEXT
    end

    def add(level, message, trace, fields)
      write(shape.entry(Time.now.utc, level, message, trace, fields))
      nil
    end
  end
end
