# frozen_string_literal: true

# Log entries for programs. Each is a JSON object on a line of its own with time, level, pid and
# message. An exception's backtrace and causes are in the member "exception". Further facts, such as
# request_id, are members of their own.

require "json"
require "neverblock/log/characters"

module NeverBlock
  class Log
    class Json
      # @param worker [Integer, nil] number of the worker, where there are several
      def initialize(worker = nil)
        @worker_field = { worker: worker }.compact
      end

      # Like Text#entry.
      # @param fields [Hash{Symbol => Object}] further fields
      # @return [String] one line
      def entry(time, level, message, trace, fields)
        row = { time: time.strftime(TIME), level: level, pid: ::Process.pid, **@worker_field,
                message: text(message) }
        fields.each { |name, value| row[name] = value.is_a?(String) ? text(value) : value }
        row[:exception] = exception(trace.to_a) if trace
        "#{JSON.generate(row)}\n"
      end

      # @param fields [Hash{Symbol => Object}] see RequestLog
      # @return [String] one line
      def request(time, fields)
        entry(time, :info, "request", nil, fields)
      end

      # An entry of text that the application wrote to rack.errors.
      # @return [String] one line, or nothing for blank text
      def passage(time, words)
        words = text(words).chomp
        words.strip.empty? ? "" : entry(time, :info, words, nil, { source: "rack.errors" })
      end

      private

      def exception(errors)
        error, *causes = errors
        row = { class: text(error.class_name), message: text(error.message),
                backtrace: error.lines.map { |line| text(line) } }
        row[:cause] = exception(causes) unless causes.empty?
        row
      end

      # JSON is UTF-8 (RFC 8259 section 8.1); invalid bytes are replaced.
      def text(value)
        Characters.utf8(value).scrub("\u{FFFD}")
      end
    end
  end
end
