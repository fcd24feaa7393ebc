# frozen_string_literal: true

# Entries for the I/O loop's own lines. The loop writes them in C into a pipe, and this thread reads
# them. Used where C does not make the format: for JSON logs, and for requests that the I/O loop
# answers itself (core/metrics/request_log.h). The I/O loop never waits for this thread: lines that
# do not fit into the pipe are dropped and counted.

require "neverblock/log/characters"
require "neverblock/log/tls_fields"

module NeverBlock
  class Log
    class CoreLines
      # Seconds to wait for the last lines at the end.
      CLOSE_S = 1

      # The beginning of a line, as core/base/log.c writes it.
      HEAD = /\Aneverblock: (?:\S+Z (?<level>\w+): )?/
      REQUEST = /\Arequest\ (?<status>\d{3})\ (?<address>\S+)\ (?<reason>[^\t]*)
                 \t(?<line>[^\t]*)(?:\t(?<tls>.*))?\z/x

      # REMOTE_ADDR of requests that came by a UNIX socket, which entries of the application's
      # answers show (binding/rack/env.c).
      THIS_MACHINE = "127.0.0.1"

      # The reason of an answer that is no error (core/responses/static.h).
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

      # @return [Integer] file descriptor for the engine
      def fileno
        @writer.fileno
      end

      # To be called after the engine has ended.
      # @return [void]
      def close
        @writer.close
        @thread.join(CLOSE_S) || @thread.kill
        @reader.close
      end

      private

      def read
        while (line = @reader.gets)
          line = line.chomp.b # it may have bytes from a client
          head = HEAD.match(line)
          text = head ? head.post_match : line
          request = head && head[:level] == "info" && REQUEST.match(text)
          request ? add_request(request) : @log.warn(text, source: "io_loop")
        end
      end

      def add_request(request)
        method, target, protocol = words(request[:line])
        kind = request[:reason] == FILE ? :served : :refused
        @log.request({ method: method && Characters.target(method),
                       target: Characters.target(target),
                       status: request[:status].to_i,
                       remote_addr: address(request[:address]),
                       kind => request[:reason], protocol: protocol,
                       **(request[:tls] ? TLSFields.of(request[:tls]) : {}) }, @request_shape)
      end

      # A UNIX socket's peer has none.
      def address(text)
        text == "-" ? THIS_MACHINE : text
      end

      # Method, target and protocol; a line that was cut has no protocol.
      def words(line)
        line.match(%r{\A(\S+) (\S+)(?: (HTTP/\d(?:\.\d)?))?\z})&.captures || [nil, line]
      end
    end
  end
end
