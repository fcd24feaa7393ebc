# frozen_string_literal: true

# The socket of a Wire::Client where the server speaks TLS: what Wire uses of a Socket, over TLS. An
# end without close_notify counts as a reset, which it may have been.

require "openssl"

module Wire
  class TLSSocket
    # @param socket [Socket] connected
    # @param protocols [Array<String>] for ALPN
    # @raise [Error] when the server chooses none of them
    def initialize(socket, protocols)
      @tcp = socket
      context = OpenSSL::SSL::SSLContext.new
      context.verify_mode = OpenSSL::SSL::VERIFY_NONE
      context.alpn_protocols = protocols
      @tls = OpenSSL::SSL::SSLSocket.new(socket, context)
      @tls.sync_close = true
      handshake
      chosen = @tls.alpn_protocol
      raise Error, "ALPN #{protocols}: #{chosen.inspect}" unless protocols.include?(chosen)

      @ahead = String.new(encoding: Encoding::BINARY)
    end

    def write_nonblock(bytes, exception: true)
      @tls.write_nonblock(bytes, exception: exception)
    rescue OpenSSL::SSL::SSLError
      raise Errno::EPIPE
    end

    def read_nonblock(count, exception: true)
      return @ahead.slice!(0, count) unless @ahead.empty?

      @tls.read_nonblock(count, exception: exception)
    rescue OpenSSL::SSL::SSLError
      raise Errno::ECONNRESET
    end

    # Readable is what TLS has for the application: session tickets wake the socket and are no
    # bytes of a response.
    def wait(events, timeout)
      limit = now + timeout if timeout
      loop do
        return self if (events & IO::READABLE).positive? && readable?

        @tcp.wait(events, limit && [limit - now, 0].max) or return
        return self if (events & IO::WRITABLE).positive? && @tcp.wait_writable(0)
        return if limit && now >= limit && !readable?
      end
    end

    def wait_readable(timeout = nil)
      wait(IO::READABLE, timeout)
    end

    def wait_writable(timeout = nil)
      wait(IO::WRITABLE, timeout)
    end

    # The socket's end alone, as of clients that send no close_notify.
    def close_write
      @tcp.close_write
    end

    def setsockopt(...)
      @tcp.setsockopt(...)
    end

    def getsockopt(...)
      @tcp.getsockopt(...)
    end

    def local_address
      @tcp.local_address
    end

    def remote_address
      @tcp.remote_address
    end

    # No close_notify: a test that ends a connection ends it, as a client that is gone does.
    def close
      @tcp.close
    end

    def closed?
      @tcp.closed?
    end

    private

    def handshake
      limit = now + DEADLINE_S
      until (step = @tls.connect_nonblock(exception: false)) == @tls
        events = step == :wait_readable ? IO::READABLE : IO::WRITABLE
        @tcp.wait(events, [limit - now, 0].max) or
          raise Overdue, "no handshake within #{DEADLINE_S} s"
      end
    end

    def readable?
      return true unless @ahead.empty?

      part = @tls.read_nonblock(65_536, exception: false)
      return false if part == :wait_readable

      @ahead << part if part
      true
    rescue OpenSSL::SSL::SSLError, SystemCallError
      true # the next read meets it again
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
