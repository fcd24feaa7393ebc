# frozen_string_literal: true

# Requests a document (/status.json, /fibers.json) from an admin address: one connection for each
# request, HTTP/1.0 so that the response is never chunked, and one deadline for all of it. Every
# failure is one line that tells what was tried and what to check.

require "socket"
require "neverblock/verbs/deadline"
require "neverblock/errors"
require "neverblock/version"
require "neverblock/watch/address"

module NeverBlock
  module Watch
    # The address does not answer, or not with a status document.
    class Unreachable < Error; end

    class Client
      PATH = "/status.json"
      TIMEOUT_S = 5
      # Longest response; the document of 64 executors has some 30 KB.
      BYTES_MAX = 1 << 20
      PIECE_BYTES = 16_384
      HEAD_END = "\r\n\r\n"
      # How the list of pages begins with which NeverBlock answers 404 (core/admin/admin.c).
      PAGES = "404 Not Found: there are / /health "

      # @return [Config::Bind]
      attr_reader :address

      # @param address [Config::Bind]
      # @param timeout_s [Numeric] seconds for a request and its response
      def initialize(address, timeout_s: TIMEOUT_S)
        @address = address
        @timeout_s = timeout_s
      end

      # Blocks until the response is complete, at most timeout_s.
      # @param target [String] path and query
      # @return [String] the document as the server wrote it
      # @raise [Unreachable]
      def fetch(target = PATH)
        @target = target
        @limit = Deadline.now + @timeout_s
        socket = connect
        begin
          write(socket, request)
          body_of(read(socket))
        ensure
          socket.close
        end
      rescue SystemCallError, SocketError, IOError => e
        raise Unreachable, "there is no answer from #{address}: #{explain(e)}"
      end

      private

      def request
        host = address.unix? ? "localhost" : address.url.delete_prefix("http://")
        "GET #{@target} HTTP/1.0\r\nHost: #{host}\r\nConnection: close\r\n\r\n"
      end

      def connect
        return connect_unix if address.unix?

        host, port = Address.host_and_port(address)
        Socket.tcp(host, port, connect_timeout: @timeout_s)
      end

      # Non-blocking: connect(2) to a socket with a full backlog would block for ever (unix(7)).
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
          if written == :wait_writable then await(socket, :wait_writable)
          else text = text.byteslice(written..)
          end
        end
      end

      # Reads until the body is complete, or the connection ends.
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
        refuse("does not speak HTTP") if status.nil?
        too_old if status == "404" && body.start_with?(PAGES)
        refuse("answered GET #{path} with #{status}") unless status == "200"
        refuse("answered GET #{path} with over #{BYTES_MAX} bytes") if answer.bytesize > BYTES_MAX
        length = head[/^content-length: *(\d+)/i, 1]
        if separator.empty? || (length && body.bytesize < length.to_i)
          raise EOFError, "the response is incomplete"
        end

        refuse("answered GET #{path} with something else") unless body.match?(/\A\s*\{/n)
        body.force_encoding(Encoding::UTF_8)
      end

      def path
        @target[/\A[^?]*/]
      end

      def too_old
        raise Unreachable, "no #{path} at #{address}: that NeverBlock is older than this " \
                           "command (#{VERSION}). Reload does not change that: stop the server " \
                           "and start it with this version"
      end

      def refuse(seen)
        raise Unreachable, "#{address} is not an admin address of NeverBlock: the program that " \
                           "listens there #{seen}; use the address of the server's --admin"
      end

      def explain(error)
        case error
        when Errno::ECONNREFUSED, Errno::ENOENT
          gone = error.is_a?(Errno::ENOENT) ? "there is no such socket" : "nothing listens there"
          "#{gone}; check that the server runs, and was started with --admin #{address}"
        when Errno::EACCES, Errno::EPERM then "user #{::Process.euid} may not open it"
        when Errno::ETIMEDOUT, Errno::EAGAIN
          "nothing came within #{format("%g", @timeout_s)} s; the machine or the server is " \
          "stuck, or a firewall is between"
        when SocketError then "the host #{address.host.inspect} has no address"
        else error.message.lines.first.to_s.strip
        end
      end
    end
  end
end
