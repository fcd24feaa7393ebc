# frozen_string_literal: true

# The I/O loop's own lines, written in C, come through a pipe and are made entries here where the log has a shape that C does not make: where every entry has to
# be JSON, and for the requests that the I/O loop answers itself (core/figures/request_log.h). The I/O loop never waits for this thread: its log drops and counts
# what a full pipe does not take.

require "neverblock/log/characters"

module NeverBlock
  class Log
    class CoreLines
      # Seconds for the last lines to come through.
      CLOSE_S = 1

      # As core/base/log.c begins a line.
      HEAD = /\Aneverblock: (?:\S+Z (?<level>\w+): )?/
      REQUEST = /\Arequest (?<status>\d{3}) (?<address>\S+) (?<reason>[^\t]*)\t(?<line>.*)\z/

      # The reason of an answer that is no refusal (core/answers/static.h).
      FILE = "a file"

      # @param log [Log]
      # @param request_shape [Log::Json, nil] see Log#request
      def initialize(log, request_shape = nil)
        @log = log
        @request_shape = request_shape
        @reader, @writer = IO.pipe
        @thread = Thread.new { read }
        @thread.name = "nb-core-log"
      end

      # @return [Integer] descriptor for the engine
      def fileno
        @writer.fileno
      end

      # Once the engine has ended.
      # @return [void]
      def close
        @writer.close
        @thread.join(CLOSE_S) || @thread.kill
        @reader.close
      end

      private

      def read
        while (line = @reader.gets)
          line = line.chomp.b # bytes of a client's may be in it
          head = HEAD.match(line)
          text = head ? head.post_match : line
          request = head && head[:level] == "info" && REQUEST.match(text)
          request ? add_request(request) : @log.warn(text, source: "io_loop")
        end
      end

      def add_request(request)
        method, target = request[:line].match(%r{\A(\S+) (\S+)(?: HTTP/\d\.\d)?\z})&.captures || [nil, request[:line]]
        @log.request({ method: method && Characters.target(method), target: Characters.target(target), status: request[:status].to_i,
                       remote_addr: request[:address].delete_suffix("-"), (request[:reason] == FILE ? :served : :refused) => request[:reason] }, @request_shape)
      end
    end
  end
end
