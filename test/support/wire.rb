# frozen_string_literal: true

# A client that speaks raw bytes to a server under test and judges every byte that comes back.
#
# Nothing here helps the server: what it sends must be a well-formed HTTP/1 response (RFC 9112), or
# Wire::Malformed says which rule was broken. Every wait has a deadline, so that a server that says
# nothing fails a test and never hangs it. What is under it Over says: TCP, TLS, or HTTP/2, whose
# responses come as the text that HTTP/1.1 would have.

require "socket"
require "uri"

require_relative "over"
require_relative "patience"
require_relative "wire_kernel"
require_relative "wire_response"
require_relative "wire_http2"
require_relative "wire_tls"

module Wire
  class Error < StandardError; end

  # The server sent bytes no server of its protocol may send.
  class Malformed < Error; end

  # The server did not send what was due in time.
  class Overdue < Error; end

  # The server ended the connection in the middle of what was due, or before it.
  class Cut < Error; end

  # A request was written that only HTTP/1.1 can say, over HTTP/2.
  class Untranslatable < Error; end

  # @param url [String] as Client.open takes it
  # @param receive_buffer_bytes [Integer, nil] SO_RCVBUF
  # @param http2 [Boolean] default: as the mode of the tests says
  # @return [Socket, UNIXSocket, TLSSocket, HTTP2Socket] connected
  def self.socket(url, receive_buffer_bytes: nil, http2: Over.http2?)
    uri = URI(url)
    socket = url.start_with?("unix:") ? UNIXSocket.new(uri.path) : tcp(uri, receive_buffer_bytes)
    secure = uri.scheme == "https"
    socket = TLSSocket.new(socket, [http2 ? "h2" : "http/1.1"]) if secure
    http2 ? HTTP2Socket.new(socket, secure ? "https" : "http") : socket
  end

  def self.tcp(uri, receive_buffer_bytes)
    address = Addrinfo.tcp(uri.hostname, uri.port)
    socket = Socket.new(address.afamily, Socket::SOCK_STREAM, 0)
    if receive_buffer_bytes
      socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_RCVBUF, receive_buffer_bytes)
    end
    socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    socket.connect(address)
    socket
  end
  private_class_method :tcp

  # Seconds a client waits for what is due next.
  DEADLINE_S = Float(ENV.fetch("NB_WIRE_DEADLINE", Patience::SECONDS))

  # Ways to hand the same bytes to the kernel. Each maps the bytes to the pieces that are sent one
  # after the other.
  module Delivery
    # Byte by byte covers this many bytes from the start and this many at the end. What lies between
    # travels in BULK_BYTES pieces: a hundred thousand single bytes in one header value show nothing
    # that two thousand do not.
    SINGLE_HEAD_BYTES = 2048
    SINGLE_TAIL_BYTES = 64
    BULK_BYTES = 509

    module_function

    def whole(bytes)
      [bytes]
    end

    def bytewise(bytes)
      return bytes.each_char.to_a if bytes.bytesize <= SINGLE_HEAD_BYTES + SINGLE_TAIL_BYTES

      head = bytes.byteslice(0, SINGLE_HEAD_BYTES)
      tail = bytes.byteslice(-SINGLE_TAIL_BYTES, SINGLE_TAIL_BYTES)
      middle = bytes.byteslice(SINGLE_HEAD_BYTES...-SINGLE_TAIL_BYTES)
      head.each_char.to_a + middle.scan(/.{1,#{BULK_BYTES}}/mn) + tail.each_char.to_a
    end

    # A piece ends behind every CRLF. Past PIECES_MAX lines the rest travels in one piece.
    PIECES_MAX = 400
    def by_line(bytes)
      bytes.split(/(?<=\r\n)/n, PIECES_MAX)
    end
  end

  # One connection.
  class Client
    READ_BYTES = 65_536
    # A piece counts as arrived when the server has read it. A server that does not read (it may be
    # busy with an answer) is given this long.
    SETTLE_S = 0.02
    SETTLE_MISSES_MAX = 3

    # @param url [String] "http://HOST:PORT", "https://HOST:PORT", "http://[::1]:PORT" or
    #   "unix:///PATH"
    # @param deadline_s [Float] how long what is due next may take
    # @param receive_buffer_bytes [Integer] SO_RCVBUF: a small one makes a slow reader
    # @param settle_s [Float] how long #deliver waits for a piece to be read before it sends the
    #   next
    # @param http2 [Boolean] default: as the mode of the tests says
    def self.open(url, **options)
      client = new(url, **options)
      return client unless block_given?

      begin
        yield client
      ensure
        client.close
      end
    end

    attr_reader :socket

    def initialize(url, deadline_s: DEADLINE_S, settle_s: SETTLE_S, **of_socket)
      @deadline_s = deadline_s
      @settle_s = settle_s
      @socket = Wire.socket(url, **of_socket)
      @buffer = String.new(encoding: Encoding::BINARY)
      @ended = nil
      @misses = 0
    end

    # Sends the pieces so that they arrive apart. Stops early when the server has ended the
    # connection.
    # @return [Boolean] whether everything went out
    def deliver(pieces)
      pieces.each_with_index do |piece, index|
        return false unless write(piece)

        settle if pieces.size > 1 && index < pieces.size - 1
      end
      true
    end

    # Sends all bytes. While the server takes none, what it sends is taken in: a server that answers
    # early must not be able to block us.
    # @return [Boolean] false when the server has ended the connection
    def write(bytes)
      limit = now + @deadline_s
      until bytes.empty?
        written = @socket.write_nonblock(bytes, exception: false)
        if written == :wait_writable
          await(limit, write: true)
        else
          bytes = bytes.byteslice(written..)
        end
      end
      true
    rescue Errno::EPIPE, Errno::ECONNRESET
      false
    end

    def get(path, *fields, version: "1.1")
      lines = ["GET #{path} HTTP/#{version}", "Host: localhost", *fields]
      write("#{lines.join("\r\n")}\r\n\r\n")
    end

    # @param method [String] the request's method: an answer to HEAD has no body
    # @param version [String] the request's: an answer to 1.0 may not be chunked
    # @return [Response] complete; Cut is raised when it ends too early, with what there was of it
    #   in the message
    def response(method: "GET", version: "1.1")
      ResponseReader.new(self, method: method, version: version).read
    end

    # @return [Response] as far as it came, and why it ended (Response#cut?)
    def response_as_far_as_it_comes(method: "GET", version: "1.1")
      ResponseReader.new(self, method: method, version: version).read_tolerating_cut
    end

    # @return [Response, nil] nil when the connection ends without one
    def response_or_end(method: "GET", version: "1.1")
      response(method: method, version: version)
    rescue Cut
      nil
    end

    # Waits for the end of the connection.
    # @return [Symbol] :eof or :reset
    # @raise [Malformed] when bytes come instead
    def ending
      limit = now + @deadline_s
      loop do
        raise Malformed, "bytes behind the last response: #{excerpt(@buffer)}" unless @buffer.empty?
        return @ended if @ended

        await(limit, read: true)
        take_in
      end
    end

    # How the connection has ended so far: :eof, :reset or nil.
    def ending_kind
      @ended
    end

    def closed_by_server?
      take_in if !@ended && @socket.wait_readable(0)
      !@ended.nil?
    end

    def shutdown_write
      @socket.close_write
    end

    # Ends the connection with a reset instead of an orderly end.
    def abort
      @socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
      @socket.close
    end

    def close
      @socket.close unless @socket.closed?
    end

    # For ResponseReader: takes `count` bytes off the stream.
    def take(count)
      fill { @buffer.bytesize >= count }
      @buffer.slice!(0, count)
    end

    # For ResponseReader: one line without its CRLF. CRLF alone ends a line (RFC 9112 section 2.2).
    def take_line(limit_bytes: 65_536)
      fill do
        if @buffer.bytesize > limit_bytes && !@buffer.include?("\n")
          raise Malformed, "line longer than #{limit_bytes} bytes: #{excerpt(@buffer)}"
        end

        @buffer.include?("\n")
      end
      line = @buffer.slice!(0, @buffer.index("\n") + 1)
      raise Malformed, "line ended by a bare LF: #{excerpt(line)}" unless line.end_with?("\r\n")

      line.chomp!("\r\n")
      raise Malformed, "CR, LF or NUL inside a line: #{excerpt(line)}" if line.match?(/[\r\n\0]/n)

      line
    end

    # For ResponseReader: everything up to the end of the connection.
    def take_to_end
      limit = now + @deadline_s
      until @ended
        await(limit, read: true)
        take_in
      end
      [@buffer.slice!(0, @buffer.bytesize), @ended]
    end

    # Takes what is there, up to `count` bytes, waiting for one byte at least. nil at the end.
    def take_some(count)
      fill { !@buffer.empty? }
      @buffer.slice!(0, count)
    rescue Cut
      nil
    end

    # Waits until the text has come; it stays to be read.
    def await_bytes(text)
      fill { @buffer.include?(text) }
    end

    def buffered
      @buffer.dup
    end

    def excerpt(bytes)
      text = bytes.byteslice(0, 200).inspect
      bytes.bytesize > 200 ? "#{text} (#{bytes.bytesize} bytes)" : text
    end

    private

    def settle
      return if @misses >= SETTLE_MISSES_MAX

      @misses += 1 unless Kernel.wait_until_peer_has_read(@socket, @settle_s)
    end

    def fill
      limit = now + @deadline_s
      until yield
        raise Cut.new("connection ended (#{@ended}) with #{excerpt(@buffer)} pending") if @ended

        await(limit, read: true)
        take_in
      end
    end

    def take_in
      data = @socket.read_nonblock(READ_BYTES, exception: false)
      case data
      when :wait_readable then nil
      when nil then @ended = :eof
      else @buffer << data
      end
    rescue Errno::ECONNRESET, Errno::EPIPE
      @ended = :reset
    end

    def await(limit, read: false, write: false)
      events = (read ? IO::READABLE : 0) | (write ? IO::WRITABLE | IO::READABLE : 0)
      unless @socket.wait(events, [limit - now, 0].max)
        raise Overdue, "nothing within #{@deadline_s} s; received so far: #{excerpt(@buffer)}"
      end

      take_in if write && @socket.wait_readable(0)
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
