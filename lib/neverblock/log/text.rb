# frozen_string_literal: true

# Log entries for people: "neverblock: TIME LEVEL: message", with an exception's trace in indented lines below. An entry never looks like two: what came from
# outside has its control characters escaped, and every further line is indented. It is UTF-8.

require "neverblock/log/characters"

module NeverBlock
  class Log
    class Text
      CONTROL = /[\x00-\x08\x0b-\x1f\x7f]/n

      # @param worker [Integer, nil] whose entries they are, where there are several
      def initialize(worker = nil)
        @who = worker ? "worker #{worker}: " : ""
      end

      # @param time [Time] UTC
      # @param level [Symbol] :info, :warning or :error
      # @param message [String]
      # @param trace [Trace, nil] of the exception
      # @return [String] whole lines
      def entry(time, level, message, trace, _fields)
        head = "#{PREFIX}#{time.strftime(TIME)} #{level}: #{@who}#{indent(message)}"
        trace ? "#{head}: #{causes(trace)}" : "#{head}\n"
      end

      # @param fields [Hash{Symbol => Object}] see RequestLog
      # @return [String] one line
      def request(time, fields)
        words = fields.values_at(:method, :target, :status)
        reason = fields[:refused] || fields[:served]
        return entry(time, :info, [*words.compact, fields[:remote_addr], *answered_by_server(reason)].join(" "), nil, fields) if reason

        more = "#{fields[:remote_addr]} #{fields[:request_id]}#{" #{fields[:error]}" if fields[:error]}"
        entry(time, :info, "#{words.join(" ")} #{fields[:duration_ms]} ms #{more}", nil, fields)
      end

      # What the application writes to rack.errors goes as it is.
      # @return [String]
      def passage(_time, text)
        text
      end

      private

      def answered_by_server(reason)
        ["answered by the server#{": #{reason}" unless reason.empty?}"]
      end

      def causes(trace)
        text = +"".b
        trace.each do |error|
          text << "  caused by " unless text.empty?
          text << indent("#{error.class_name}: #{error.message}") << "\n"
          error.lines.each { |line| text << "    " << escape(line) << "\n" }
        end
        text
      end

      def indent(text)
        escape(text).gsub(/\n+(?!\z)/n, "\n  ").chomp
      end

      def escape(text)
        Characters.valid(text).b.gsub(CONTROL) { |byte| format("\\x%02x", byte.ord) }
      end
    end
  end
end
