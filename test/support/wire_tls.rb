# frozen_string_literal: true

# The socket of a Wire::Client where the server speaks TLS: what Wire uses of a Socket, over TLS. An
# end without close_notify counts as a reset, which it may have been.

require "openssl"

module Wire
  class TLSSocket
    # @param socket [Socket] connected
    def initialize(socket)
      @tcp = socket
      context = OpenSSL::SSL::SSLContext.new
      context.verify_mode = OpenSSL::SSL::VERIFY_NONE
      @tls = OpenSSL::SSL::SSLSocket.new(socket, context)
      @tls.sync_close = true
      @tls.connect
    end

    def write_nonblock(bytes, exception: true)
      @tls.write_nonblock(bytes, exception: exception)
    rescue OpenSSL::SSL::SSLError
      raise Errno::EPIPE
    end

    def read_nonblock(count, exception: true)
      @tls.read_nonblock(count, exception: exception)
    rescue OpenSSL::SSL::SSLError
      raise Errno::ECONNRESET
    end

    # Bytes that OpenSSL has decrypted count as readable.
    def wait(events, timeout)
      return self if (events & IO::READABLE).positive? && @tls.pending.positive?

      @tcp.wait(events, timeout) && self
    end

    def wait_readable(timeout = nil)
      wait(IO::READABLE, timeout)
    end

    # The socket's end alone, as of clients that send no close_notify.
    def close_write
      @tcp.close_write
    end

    def setsockopt(...)
      @tcp.setsockopt(...)
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
  end
end
