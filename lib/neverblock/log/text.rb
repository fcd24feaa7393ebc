# frozen_string_literal: true

# Log entries for people: "neverblock: TIME LEVEL: message", then an exception's backtrace in
# indented lines. Text from outside cannot fake an entry: control characters are escaped, and
# further lines are indented. Entries are UTF-8.

require "neverblock/log/characters"

module NeverBlock
  class Log
    class Text
      # The protocol that is not told.
      USUAL = "HTTP/1.1"
      CONTROL = /[\x00-\x08\x0b-\x1f\x7f]/n

      # @param worker [Integer, nil] number of the worker, where there are several
      def initialize(worker = nil)
        @worker_prefix = worker ? "worker #{worker}: " : ""
      end

      # @param time [Time] UTC
      # @param level [Symbol] :info, :warning or :error
      # @param message [String]
      # @param trace [Trace, nil] of the exception
      # @return [String] whole lines
      def entry(time, level, message, trace, _fields)
        head = "#{PREFIX}#{time.strftime(TIME)} #{level}: #{@worker_prefix}#{indent(message)}"
        trace ? "#{head}: #{causes(trace)}" : "#{head}\n"
      end

      # @param fields [Hash{Symbol => Object}] see RequestLog
      # @return [String] one line
      def request(time, fields)
        protocol = fields[:protocol] unless fields[:protocol] == USUAL
        words = [fields[:method], fields[:target], *protocol, fields[:status]]
        return entry(time, :info, by_server(words.compact, fields), nil, fields) if reason(fields)

        more = "#{fields[:remote_addr]} #{fields[:request_id]}"
        more = "#{more} trace #{fields[:trace_id]}" if fields[:trace_id]
        more = "#{more} #{fields[:error]}" if fields[:error]
        entry(time, :info, "#{words.join(" ")} #{fields[:duration_ms]} ms #{more}", nil, fields)
      end

      # Text that the application wrote to rack.errors, unchanged.
      # @return [String]
      def passage(_time, text)
        text
      end

      private

      def reason(fields)
        fields[:refused] || fields[:served]
      end

      def by_server(words, fields)
        answered = "answered by the server"
        answered = "#{answered}: #{reason(fields)}" unless reason(fields).empty?
        [*words, fields[:remote_addr], answered].join(" ")
      end

      def causes(trace)
        text = +"".b
        trace.each do |error|
          text << "  caused by " unless text.empty?
          text << indent("#{error.class_name}: #{Characters.utf8(error.message)}") << "\n"
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
