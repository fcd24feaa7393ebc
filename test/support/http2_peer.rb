# frozen_string_literal: true

# A client of HTTP/2 that writes frames by hand (RFC 9113 section 4.1), for what no real client
# does. Field blocks are written without compression. Those that come are not read: a test looks at
# types, codes, streams and content.

require "socket"
require "timeout"

require_relative "patience"

class Http2Peer
  PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".b.freeze
  TYPES = {
    data: 0, headers: 1, priority: 2, rst_stream: 3, settings: 4, push: 5, ping: 6, goaway: 7,
    window_update: 8, continuation: 9, priority_update: 16
  }.freeze
  NAMES = TYPES.invert.freeze
  END_STREAM = 1
  ACK = 1
  END_HEADERS = 4

  # Numbers of error codes (RFC 9113 section 7).
  NO_ERROR = 0
  PROTOCOL_ERROR = 1
  REFUSED_STREAM = 7
  CANCEL = 8
  ENHANCE_YOUR_CALM = 11

  Frame = Struct.new(:type, :flags, :stream, :payload) do
    def end?
      flags.anybits?(END_STREAM)
    end

    # Of RST_STREAM and GOAWAY.
    def code
      payload[type == :goaway ? 4 : 0, 4].unpack1("N")
    end

    # Of SETTINGS: values by number.
    def settings
      payload.unpack("nN" * (payload.bytesize / 6)).each_slice(2).to_h
    end
  end

  # @param url [String] of a plain address
  # @param settings [Hash{Integer => Integer}] values by number
  def self.open(url, settings: {})
    host, port = url[%r{\Ahttp://(.+?)/?\z}, 1].split(":")
    client = new(Socket.tcp(host, port.to_i))
    client.raw(PREFACE)
    client.frame(:settings, payload: settings.flatten.pack("nN" * settings.size))
    yield client
  ensure
    client&.close
  end

  def initialize(socket)
    @socket = socket
    @input = +"".b
    @next_stream = 1
  end

  def close
    @socket.close
  end

  def raw(bytes)
    Timeout.timeout(Patience::SECONDS) { @socket.write(bytes) }
  end

  # Writes as much as the socket takes, if the connection has not ended.
  def try(bytes)
    @socket.write_nonblock(bytes, exception: false)
  rescue Errno::EPIPE, Errno::ECONNRESET
    nil
  end

  def frame(type, flags: 0, stream: 0, payload: "")
    raw(bytes_of(type, flags: flags, stream: stream, payload: payload))
  end

  def bytes_of(type, flags: 0, stream: 0, payload: "")
    size = payload.bytesize
    [size >> 16, size & 0xffff, TYPES.fetch(type), flags, stream].pack("CnCCN") + payload.b
  end

  # @param fields [Hash{String => String}]
  # @param body [Boolean] content follows
  # @return [Integer] the stream
  def request(path, method: "GET", fields: {}, body: false)
    stream = @next_stream
    @next_stream += 2
    pseudo = { ":method" => method, ":scheme" => "http", ":authority" => "test", ":path" => path }
    frame(:headers, flags: END_HEADERS | (body ? 0 : END_STREAM), stream: stream,
                    payload: block(pseudo.merge(fields)))
    stream
  end

  # Literal fields without indexing, of at most 126 bytes (RFC 7541 section 6.2.2).
  def block(fields)
    fields.map { |pair| "\0#{pair.map { |text| [text.bytesize].pack("C") + text }.join}" }.join.b
  end

  def data(stream, bytes, last: false)
    frame(:data, flags: last ? END_STREAM : 0, stream: stream, payload: bytes)
  end

  # @param stream [Integer] 0: the connection
  def open_window(stream, bytes)
    frame(:window_update, stream: stream, payload: [bytes].pack("N"))
  end

  # @return [Frame, nil] the next; nil: the connection has ended
  def read
    head = take(9) or return
    high, low, type, flags, stream = head.unpack("CnCCN")
    Frame.new(NAMES[type], flags, stream, take((high << 16) | low))
  end

  # The next frame for which the block is true; others are passed over.
  # @return [Frame]
  def await(type, stream = nil)
    while (frame = read)
      fits = frame.type == type && (stream.nil? || frame.stream == stream)
      return frame if fits && (!block_given? || yield(frame))
    end
    raise EOFError, "the connection ended before #{type} of #{stream || "any stream"}"
  end

  # @return [String] the content of a response, read to its end
  def content(stream)
    text = +"".b
    until (frame = await(:data, stream)).end?
      text << frame.payload
    end
    text << frame.payload
  end

  private

  def take(size)
    while @input.bytesize < size
      unless @socket.wait_readable(Patience::SECONDS)
        raise "nothing came within #{Patience::SECONDS} seconds"
      end

      part = @socket.read_nonblock(65_536, exception: false)
      return if part.nil?

      @input << part if part.is_a?(String)
    end
    @input.slice!(0, size)
  rescue Errno::ECONNRESET
    nil
  end
end
