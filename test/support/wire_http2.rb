# frozen_string_literal: true

# The socket of a Wire::Client where HTTP/2 is spoken: takes the text of HTTP/1.1 requests and gives
# the text of their responses, in the order of the requests, each on a stream of its own. So tests
# that speak of requests and responses are the same over both. Framing is by the gem http-2.
#
# What ends one HTTP/1.1 connection ends this socket: a stream that is reset in its response is a
# connection cut there, and a request with `Connection: close` is the last.

require "http/2"
require "rack/utils"

require_relative "wire_http2_request"

module Wire
  # A response as it comes on its stream, as text of HTTP/1.1. Holds it to RFC 9113 section 8.
  class HTTP2Exchange
    CONNECTION_FIELDS = %w[connection keep-alive proxy-connection transfer-encoding upgrade].freeze

    # @param verb [String] the request's
    # @param last [Boolean] whether the connection is to end with it
    def initialize(verb, last)
      @verb = verb
      @last = last
      @text = String.new(encoding: Encoding::BINARY)
      @state = :head
    end

    # @param fields [Array<Array(String, String)>]
    def fields(fields)
      return trailers(fields) unless @state == :head

      check_names(fields)
      pseudo, fields = fields.partition { |name, _| name.start_with?(":") }
      unless pseudo.map(&:first) == [":status"]
        raise Malformed, "pseudo-header fields (RFC 9113 section 8.3.2): #{pseudo}"
      end

      head(pseudo.first.last, fields)
    end

    # @param bytes [String] of a DATA frame
    def data(bytes)
      return if bytes.empty?
      raise Malformed, "DATA in #{@state}, of an answer to #{@verb}" unless @framing

      @bytes += bytes.bytesize
      @text << (@framing == :chunked ? "#{bytes.bytesize.to_s(16)}\r\n".b + bytes + "\r\n" : bytes)
    end

    # The response has come to its end.
    def complete
      return if over?
      raise Malformed, "the stream ends before the response's head" if @state == :head

      if @framing.is_a?(Integer) && @framing != @bytes
        raise Malformed, "#{@bytes} bytes, Content-Length #{@framing} (RFC 9113 section 8.1.1)"
      end

      @text << "0\r\n\r\n" if @framing == :chunked && @state != :trailers
      @state = :complete
    end

    # The stream will bring nothing more.
    def cut
      @state = :cut unless over?
    end

    # A further request on the connection has no answer.
    def last!
      @last = true
    end

    def over?
      %i[complete cut].include?(@state)
    end

    def cut?
      @state == :cut
    end

    def last?
      @last
    end

    # @return [String] what has come since the last call
    def take
      @text.slice!(0, @text.bytesize)
    end

    private

    # RFC 9113 section 8.2.
    def check_names(fields)
      fields.each do |name, value|
        raise Malformed, "field name #{name.inspect}" unless name.match?(/\A:?[^A-Z:\s]+\z/)
        raise Malformed, "#{name} in HTTP/2" if CONNECTION_FIELDS.include?(name)
        raise Malformed, "value #{value.inspect}" if value.b.match?(/[\r\n\0]|\A[ \t]|[ \t]\z/n)
      end
    end

    def head(status, fields)
      @text << "HTTP/1.1 #{status} #{Rack::Utils::HTTP_STATUS_CODES[status.to_i]}\r\n"
      fields.each { |name, value| @text << "#{name}: ".b << value.b << "\r\n" }
      begin_body(status, fields) unless status.start_with?("1")
      @text << "\r\n"
    end

    def begin_body(status, fields)
      @state = :body
      @bytes = 0
      return if @verb == "HEAD" || %w[204 304].include?(status)

      length = fields.assoc("content-length")&.last
      @framing = length ? Integer(length, 10) : :chunked
      @text << "transfer-encoding: chunked\r\n" unless length
    end

    def trailers(fields)
      raise Malformed, "HEADERS in #{@state}: #{fields}" unless @framing == :chunked

      @state = :trailers
      @text << "0\r\n" << fields.map { |name, value| "#{name}: #{value}\r\n" }.join << "\r\n"
    end
  end

  class HTTP2Socket
    READ_BYTES = 16_384
    PART_BYTES = 16_384
    # Before the server has told its own limit (RFC 9113 section 6.5.2 asks for no fewer).
    STREAMS_MAX = 100

    # @param io [Socket, UNIXSocket, TLSSocket] connected
    # @param scheme [String] for :scheme
    def initialize(io, scheme)
      @io = io
      @connection = HTTP2::Client.new(settings_enable_push: 0)
      @connection.on(:frame) { |bytes| @due << bytes }
      @connection.on(:goaway) { |last, *| refused_after(last) }
      @request = HTTP2Request.new(self, scheme)
      @exchanges = {}
      @due = String.new(encoding: Encoding::BINARY)
      @text = String.new(encoding: Encoding::BINARY)
      @io_ended = @ended = nil
    end

    # @return [Integer, Symbol] :wait_writable where the server takes no more now: its windows are
    #   shut, it lets no further stream begin, or the kernel takes no more
    def write_nonblock(bytes, exception: true)
      flush
      raise Errno::EPIPE if @ended

      taken = @due.empty? ? @request.take(bytes) : 0
      flush
      return taken if taken.positive? || bytes.empty?

      exception ? raise(IO::EAGAINWaitWritable) : :wait_writable
    rescue HTTP2::Error::ConnectionClosed, HTTP2::Error::StreamClosed
      raise Errno::EPIPE
    end

    def read_nonblock(count, buffer = nil, exception: true)
      pull
      return hand(@text.slice!(0, count), buffer) unless @text.empty?
      raise Errno::ECONNRESET if @ended == :reset

      if @ended
        exception ? raise(EOFError) : nil
      else
        exception ? raise(IO::EAGAINWaitReadable) : :wait_readable
      end
    end

    # Readable is the text of responses, writable what HTTP/2 and the kernel take.
    def wait(events, timeout)
      limit = now + timeout if timeout
      loop do
        flush
        pull
        return self if @ended
        return self if (events & IO::READABLE).positive? && !@text.empty?
        return self if (events & IO::WRITABLE).positive? && room?

        left = limit && [limit - now, 0].max
        @io.wait(IO::READABLE | (@due.empty? ? 0 : IO::WRITABLE), left) or return
      end
    end

    def wait_readable(timeout = nil)
      wait(IO::READABLE, timeout)
    end

    def wait_writable(timeout = nil)
      wait(IO::WRITABLE, timeout)
    end

    def to_io
      self
    end

    %i[close_write setsockopt getsockopt local_address remote_address close closed?].each do |name|
      define_method(name) { |*arguments| @io.public_send(name, *arguments) }
    end

    # For HTTP2Request.

    def full?
      limit = @connection.remote_settings.settings_max_concurrent_streams
      @connection.active_stream_count >= [limit, STREAMS_MAX].min
    end

    def head(head)
      @stream = @connection.new_stream
      exchange = @exchanges[@stream.id] = HTTP2Exchange.new(head.verb, head.last)
      hear(@stream, exchange)
      @stream.headers(head.fields, end_stream: head.ended)
    end

    def room
      [@stream.remote_window, @connection.remote_window, PART_BYTES].min.clamp(0, PART_BYTES)
    end

    def data(bytes, ended)
      @stream.data(bytes, end_stream: ended)
    end

    def trailers(fields)
      @stream.headers(fields, end_stream: true)
    end

    private

    def hear(stream, exchange)
      stream.on(:headers) { |fields| exchange.fields(fields) }
      stream.on(:data) { |bytes| exchange.data(bytes) }
      stream.on(:half_close) { exchange.complete if stream.state == :half_closed_remote }
      stream.on(:close) do |error|
        # A reset behind the whole response asks for no more of the request (RFC 9113 section 8.1).
        next exchange.complete unless error

        exchange.over? ? finish(exchange) : exchange.cut
      end
    end

    def finish(exchange)
      exchange.last!
      @ended ||= :eof unless @exchanges.value?(exchange)
    end

    # GOAWAY: the server has not begun with what came later, and never will.
    def refused_after(last)
      @exchanges.each { |id, exchange| exchange.cut if id > last }
    end

    def room?
      return false unless @due.empty?

      @request.in_body? ? room.positive? || @stream.closed? : !full?
    end

    def hand(text, buffer)
      buffer ? buffer.replace(text) : text
    end

    # Takes in until there is text, or nothing more without waiting.
    def pull
      while tell && (bytes = take_in)
        receive(bytes)
        flush
      end
    end

    # Moves the text of the first responses.
    # @return [Boolean] whether more has to come in
    def tell
      while @ended.nil? && (id, exchange = @exchanges.first)
        @text << exchange.take
        break unless exchange.over?

        @exchanges.delete(id)
        @ended = exchange.cut? ? :reset : :eof if exchange.cut? || exchange.last?
      end
      @ended ||= @io_ended
      @text.empty? && @ended.nil?
    end

    # @return [String, nil]
    def take_in
      bytes = @io.read_nonblock(READ_BYTES, exception: false)
      return bytes if bytes.is_a?(String)

      bytes.nil? ? ended(:eof) : nil
    rescue SystemCallError
      ended(:reset)
    end

    def ended(how)
      @io_ended = how
      tell
      nil
    end

    def receive(bytes)
      @connection << bytes
    rescue HTTP2::Error::Error => e
      raise Malformed, "#{e.class}: #{e.message}"
    end

    def flush
      until @due.empty?
        written = @io.write_nonblock(@due, exception: false)
        return if written.is_a?(Symbol)

        @due = @due.byteslice(written..)
      end
    rescue Errno::EPIPE, Errno::ECONNRESET
      @due.clear # reading tells of the end
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
