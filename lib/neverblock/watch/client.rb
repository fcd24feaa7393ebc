# frozen_string_literal: true

# Asks an admin address for /status.json: one connection a question, HTTP/1.0 so that the answer is never chunked, and one deadline for all of it. What can go
# wrong is one line that says what was tried and what to look at.

require "socket"
require "neverblock/verbs/deadline"
require "neverblock/errors"
require "neverblock/watch/address"

module NeverBlock
  module Watch
    # Nobody answers there, or not with figures.
    class Unreachable < Error; end

    class Client
      PATH = "/status.json"
      TIMEOUT_S = 5
      # The document of 64 executors has some 30 KB.
      BYTES_MAX = 1 << 20
      PIECE_BYTES = 16_384
      HEAD_END = "\r\n\r\n"

      # @return [Config::Bind]
      attr_reader :address

      # @param address [Config::Bind]
      # @param timeout_s [Numeric] for one question and its answer
      def initialize(address, timeout_s: TIMEOUT_S)
        @address = address
        @timeout_s = timeout_s
      end

      # @return [String] the document as the server wrote it
      # @raise [Unreachable]
      def fetch
        @limit = Deadline.now + @timeout_s
        socket = connect
        begin
          write(socket, "GET #{PATH} HTTP/1.0\r\nHost: #{address.unix? ? "localhost" : address.url.delete_prefix("http://")}\r\nConnection: close\r\n\r\n")
          body_of(read(socket))
        ensure
          socket.close
        end
      rescue SystemCallError, SocketError, IOError => e
        raise Unreachable, "no answer from #{address}: #{mend(e)}"
      end

      private

      def connect
        return connect_unix if address.unix?

        host, port = Address.host_and_port(address)
        Socket.tcp(host, port, connect_timeout: @timeout_s)
      end

      # Without waiting: a connect(2) to a socket whose backlog is full would wait for ever (unix(7)).
      def connect_unix
        socket = Socket.new(:UNIX, :STREAM)
        socket.connect_nonblock(Socket.sockaddr_un(address.path))
        socket
      rescue StandardError
        socket&.close
        raise
      end

      def write(socket, text)
        until text.empty?
          written = socket.write_nonblock(text, exception: false)
          written == :wait_writable ? await(socket, :wait_writable) : text = text.byteslice(written..)
        end
      end

      # Until the body has the length it said, or the connection ends.
      def read(socket)
        text = +"".b
        until text.bytesize > BYTES_MAX || whole?(text)
          piece = socket.read_nonblock(PIECE_BYTES, exception: false)
          break if piece.nil?

          piece == :wait_readable ? await(socket, :wait_readable) : text << piece
        end
        text
      end

      def await(socket, how)
        left = @limit - Deadline.now
        return if left.positive? && socket.public_send(how, left)

        raise Errno::ETIMEDOUT
      end

      def whole?(text)
        head, separator, body = text.partition(HEAD_END)
        length = head[/^content-length: *(\d+)/i, 1]
        !separator.empty? && length && body.bytesize >= length.to_i
      end

      def body_of(answer)
        head, separator, body = answer.partition(HEAD_END)
        status = head[%r{\AHTTP/1\.[01] (\d{3})}, 1]
        refuse("speaks no HTTP") if status.nil?
        refuse("answered GET #{PATH} with #{status}") unless status == "200"
        refuse("answered GET #{PATH} with over #{BYTES_MAX} bytes") if answer.bytesize > BYTES_MAX
        length = head[/^content-length: *(\d+)/i, 1]
        raise EOFError, "the answer was cut" if separator.empty? || (length && body.bytesize < length.to_i)

        body.force_encoding(Encoding::UTF_8)
      end

      def refuse(seen)
        raise Unreachable, "#{address} is no admin address of NeverBlock: what listens there #{seen}; the server's --admin says which is"
      end

      def mend(error)
        case error
        when Errno::ECONNREFUSED, Errno::ENOENT
          gone = error.is_a?(Errno::ENOENT) ? "there is no such socket" : "nothing listens there"
          "#{gone}; is the server running, and was it started with --admin #{address}?"
        when Errno::EACCES, Errno::EPERM then "user #{::Process.euid} may not open it"
        when Errno::ETIMEDOUT, Errno::EAGAIN then "nothing came within #{format("%g", @timeout_s)} s; the machine or the server is stuck, or a firewall is between"
        when SocketError then "no address for the host #{address.host.inspect}"
        else error.message.lines.first.to_s.strip
        end
      end
    end
  end
end
