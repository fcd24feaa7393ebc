# frozen_string_literal: true

# Sends commands to a running server through its control socket, one connection for each.

require "json"
require "neverblock/verbs/deadline"
require "neverblock/errors"
require "neverblock/server/control/address"

module NeverBlock
  class Server
    class Control
      class Client
        # The server has refused the command. The message is the server's.
        class Refused < Error; end
        # There is no socket, nobody listens, or the connection ended without an answer.
        class Gone < Error; end

        PIECE_BYTES = 4_096
        # Longest line of an answer, enough for a few hundred workers.
        LINE_BYTES_MAX = 65_536

        # @return [String] the socket's path
        attr_reader :path

        # @param pidfile [String]
        def initialize(pidfile)
          @address = Address.new(pidfile)
          @path = @address.path
        end

        # Blocks until the answer is complete.
        # @param command [String] one line
        # @param wait_s [Numeric, nil] seconds for the whole answer; nil: no limit
        # @yieldparam progress [String]
        # @return [Hash{Symbol => Object}] the answer
        # @raise [Refused]
        # @raise [Gone]
        # @raise [Error] when this user may not connect, or the other end is no server
        def ask(command, wait_s: nil, &progress)
          socket = connect
          say(socket, command)
          answer(socket, wait_s && (Deadline.now + wait_s), &progress)
        rescue Errno::ENOENT, Errno::ECONNREFUSED, Errno::ECONNRESET, Errno::ENOTSOCK
          raise Gone, "nobody answers on #{path}"
        rescue Errno::EACCES, Errno::EPERM
          raise Error, "user #{::Process.euid} may not open #{path}; " \
                       "use the server's own user, or root"
        rescue SystemCallError => e
          raise Gone, "there is no answer from #{path}: #{e.message}"
        ensure
          socket&.close
        end

        private

        # Non-blocking: connect(2) to a socket with a full backlog would block for ever (unix(7)).
        def connect
          socket = Socket.new(:UNIX, :STREAM)
          @address.packed { |address| socket.connect_nonblock(address) }
          socket
        rescue StandardError
          socket&.close
          raise
        end

        # A server that refuses the client may close before it reads the command.
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
          raise Gone, "#{path} was closed before an answer came"
        end

        def each_line(socket, limit)
          text = +""
          loop do
            piece = socket.read_nonblock(PIECE_BYTES, exception: false)
            return if piece.nil?
            next await(socket, limit) if piece == :wait_readable

            text << piece
            yield text.slice!(/\A.*\n/) while text.include?("\n")
            refuse_other if text.bytesize > LINE_BYTES_MAX
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
          refuse_other
        end

        def refuse_other
          raise Error, "#{path} is not a control socket of NeverBlock"
        end
      end
    end
  end
end
