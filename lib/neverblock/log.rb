# frozen_string_literal: true

# The server's log. The native part (core/base/log.h) takes whole lines and writes them from a thread of its own, so that no reader, however slow,
# ever makes a request wait; this part makes entries, and Log::Text or Log::Json gives them their shape. Every entry of the server's begins a line.

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

    # @param name [Symbol] :text (which it is when nobody says otherwise) or :json
    # @return [void]
    def format=(name)
      @format = name == :json ? json : Text.new(@worker)
    end

    # From here on its entries say which worker they are of.
    # @param number [Integer]
    # @return [void]
    def worker=(number)
      @worker = number
      @format = shape.class.new(number)
    end

    # @return [Json] the shape of entries that are JSON whatever the others are
    def json
      require "neverblock/log/json"
      Json.new(@worker)
    end

    # Never blocks, never parks the fiber, never raises for want of room: what does not fit is dropped and counted. So do the others.
    # @param message [String]
    # @param fields [Hash{Symbol => Object}] what JSON shows besides, such as request_id
    # @return [nil]
    def info(message, **fields)
      add(:info, message, nil, fields)
    end

    # An entry that asks for somebody's attention.
    # @param message [String]
    # @return [nil]
    def warn(message, **fields)
      add(:warning, message, nil, fields)
    end

    # An entry with the exception's class and message, and its trace with the traces of its causes.
    # @param message [String] what was being done
    # @param exception [Exception, nil]
    # @return [nil]
    def error(message, exception = nil, **fields)
      add(:error, message, exception && Trace.new(exception), fields)
    end

    # An entry for a request that was answered.
    # @param fields [Hash{Symbol => Object}] see RequestLog
    # @param with [Text, Json, nil] nil: as all other entries
    # @return [nil]
    def request(fields, with = nil)
      write((with || shape).request(Time.now.utc, fields))
      nil
    end

    # Where the application's own text (rack.errors) goes: as it is, or as entries where every line has to be one.
    # @return [#write]
    def passages
      shape.is_a?(Text) ? self : Passages.new(self, shape)
    end

    # Text of the application's, each write an entry.
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
