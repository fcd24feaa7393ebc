# frozen_string_literal: true

# Asks a running server through its control socket: one connection a question.

require "json"
require "neverblock/verbs/deadline"
require "neverblock/errors"
require "neverblock/server/control/address"

module NeverBlock
  class Server
    class Control
      class Client
        # The server said no: its message.
        class Refused < Error; end
        # There is no socket, nobody listens on it, or it ended before it answered.
        class Gone < Error; end

        PIECE_BYTES = 4_096
        # A line of an answer: a few hundred workers.
        LINE_BYTES_MAX = 65_536

        # @return [String] the socket's path
        attr_reader :path

        # @param pidfile [String]
        def initialize(pidfile)
          @address = Address.new(pidfile)
          @path = @address.path
        end

        # @param command [String] one line
        # @param wait_s [Numeric, nil] seconds for the whole answer; nil: as long as it takes
        # @yieldparam progress [String]
        # @return [Hash{Symbol => Object}] the answer
        # @raise [Refused]
        # @raise [Gone]
        # @raise [Error] when this user may not ask, or what answers is no server
        def ask(command, wait_s: nil, &progress)
          socket = connect
          say(socket, command)
          answer(socket, wait_s && (Deadline.now + wait_s), &progress)
        rescue Errno::ENOENT, Errno::ECONNREFUSED, Errno::ECONNRESET, Errno::ENOTSOCK
          raise Gone, "nobody answers on #{path}"
        rescue Errno::EACCES, Errno::EPERM
          raise Error, "user #{::Process.euid} may not open #{path}: use the server's own user, or root"
        rescue SystemCallError => e
          raise Gone, "no answer from #{path}: #{e.message}"
        ensure
          socket&.close
        end

        private

        # Without waiting: a connect(2) to a socket whose backlog is full would wait for ever (unix(7)).
        def connect
          socket = Socket.new(:UNIX, :STREAM)
          @address.packed { |address| socket.connect_nonblock(address) }
          socket
        rescue StandardError
          socket&.close
          raise
        end

        # A server that refuses whoever asks does not wait for the question.
        def say(socket, command)
          socket.write("#{command}\n")
        rescue Errno::EPIPE
          nil
        end

        def answer(socket, limit)
          each_line(socket, limit) do |line|
            found = parse(line)
            next yield(found[:progress]) if found.key?(:progress) && block_given?
            next unless found.key?(:ok)

            raise Refused, found[:error].to_s unless found[:ok]

            return found
          end
          raise Gone, "#{path} was closed before it answered"
        end

        def each_line(socket, limit)
          text = +""
          loop do
            piece = socket.read_nonblock(PIECE_BYTES, exception: false)
            return if piece.nil?
            next await(socket, limit) if piece == :wait_readable

            text << piece
            yield text.slice!(/\A.*\n/) while text.include?("\n")
            raise Error, "#{path} is no control socket of NeverBlock" if text.bytesize > LINE_BYTES_MAX
          end
        end

        def await(socket, limit)
          left = limit && (limit - Deadline.now)
          raise Errno::ETIMEDOUT if left && (left.negative? || !socket.wait_readable(left))

          socket.wait_readable unless left
        end

        def parse(line)
          found = JSON.parse(line, symbolize_names: true)
          found.is_a?(Hash) ? found : raise(JSON::ParserError)
        rescue JSON::ParserError, EncodingError
          raise Error, "#{path} is no control socket of NeverBlock"
        end
      end
    end
  end
end
