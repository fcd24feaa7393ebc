# frozen_string_literal: true

# Log entries for programs: each a JSON object on a line of its own with time, level, pid and message; the trace of an exception, and those of its causes, in the
# field "exception"; whatever else an entry knows, such as request_id, in fields of its own.

require "json"
require "neverblock/log/characters"

module NeverBlock
  class Log
    class Json
      # @param worker [Integer, nil] whose entries they are, where there are several
      def initialize(worker = nil)
        @who = { worker: worker }.compact
      end

      # As Text#entry.
      # @param fields [Hash{Symbol => Object}] further fields
      # @return [String] one line
      def entry(time, level, message, trace, fields)
        row = { time: time.strftime(TIME), level: level, pid: ::Process.pid, **@who, message: text(message) }
        fields.each { |name, value| row[name] = value.is_a?(String) ? text(value) : value }
        row[:exception] = exception(trace.to_a) if trace
        "#{JSON.generate(row)}\n"
      end

      # @param fields [Hash{Symbol => Object}] see RequestLog
      # @return [String] one line
      def request(time, fields)
        entry(time, :info, "request", nil, fields)
      end

      # What the application writes to rack.errors.
      # @return [String] one line, or nothing for blank text
      def passage(time, words)
        words = text(words).chomp
        words.strip.empty? ? "" : entry(time, :info, words, nil, { source: "rack.errors" })
      end

      private

      def exception(errors)
        error, *causes = errors
        row = { class: text(error.class_name), message: text(error.message), backtrace: error.lines.map { |line| text(line) } }
        row[:cause] = exception(causes) unless causes.empty?
        row
      end

      # JSON is UTF-8 (RFC 8259, 8.1); what is not is shown as far as it can be.
      def text(value)
        Characters.utf8(value).scrub("\u{FFFD}")
      end
    end
  end
end
