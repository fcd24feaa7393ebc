# frozen_string_literal: true

# Frames (RFC 9113 section 4.1) and field blocks (RFC 7541) made by hand. Nothing is checked: a test
# may give any stream, flag, length or byte.

module Http2Wire
  PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".b.freeze

  DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE,
    CONTINUATION = (0..9).to_a

  # Flags.
  END_STREAM = ACK = 0x1
  END_HEADERS = 0x4
  PADDED = 0x8
  WITH_PRIORITY = 0x20

  # Error codes (RFC 9113 section 7).
  NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED,
    FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM =
    (0..11).to_a

  # Settings (section 6.5.2).
  HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE,
    MAX_HEADER_LIST_SIZE = (1..6).to_a

  Frame = Struct.new(:type, :flags, :stream, :payload) do
    def flag?(flag)
      flags.anybits?(flag)
    end

    # Of RST_STREAM and GOAWAY.
    def code
      payload[type == GOAWAY ? 4 : 0, 4].unpack1("N")
    end

    # Of SETTINGS: values by number.
    def settings
      payload.unpack("nN" * (payload.bytesize / 6)).each_slice(2).to_h
    end
  end

  # The words that tests make frames with.
  module Frames
    module_function

    # @param length [Integer] what the head says, if not the truth
    # @param reserved [Integer] the bit before the stream
    def raw(type, flags, stream, payload = "", length: payload.bytesize, reserved: 0)
      payload = payload.b
      [length >> 16, length & 0xffff, type, flags,
       stream | (reserved << 31)].pack("CnCCN") + payload
    end

    # @return [Array(Integer, Integer, Integer, Integer)] length, type, flags, stream with its
    #   reserved bit
    def parse_head(bytes, at = 0)
      high, low, type, flags, stream = bytes.unpack("@#{at}CnCCN")
      [(high << 16) | low, type, flags, stream]
    end

    # @return [Array<String>] the preface, frames, and what is no whole frame
    def split(bytes)
      parts = []
      rest = bytes.b
      parts << rest.slice!(0, PREFACE.bytesize) if rest.start_with?(PREFACE)
      parts << rest.slice!(0, 9 + parse_head(rest).first) while rest.bytesize >= 9
      rest.empty? ? parts : parts << rest
    end

    # @param padding [Integer, nil] bytes of padding; nil: the frame is not padded
    def data(stream, bytes = "", flags = 0, padding: nil)
      flags |= PADDED if padding
      raw(DATA, flags, stream, padded(bytes, padding))
    end

    def last_data(stream, bytes = "", **options)
      data(stream, bytes, END_STREAM, **options)
    end

    # @param block [String, Array] a field block, or fields for Hpack.block
    def headers(stream, block, flags = END_HEADERS, padding: nil)
      flags |= PADDED if padding
      block = Hpack.block(block) unless block.is_a?(String)
      raw(HEADERS, flags, stream, padded(block, padding))
    end

    def last_headers(stream, block, flags = END_HEADERS, **options)
      headers(stream, block, flags | END_STREAM, **options)
    end

    def continuation(stream, block, flags = END_HEADERS)
      raw(CONTINUATION, flags, stream, block)
    end

    def priority(stream, on: 0, weight: 15, exclusive: 0)
      raw(PRIORITY, 0, stream, priority_fields(on, weight, exclusive))
    end

    def priority_fields(depends_on, weight = 15, exclusive = 0)
      [(exclusive << 31) | depends_on, weight].pack("NC")
    end

    def rst_stream(stream, code = CANCEL)
      raw(RST_STREAM, 0, stream, [code].pack("N"))
    end

    # @param values [Hash, Array] identifiers and values, in order
    def settings(values = {}, flags = 0, stream: 0)
      raw(SETTINGS, flags, stream, values.map { |setting| setting.pack("nN") }.join)
    end

    def ping(payload = "12345678", flags = 0, stream: 0)
      raw(PING, flags, stream, payload)
    end

    def goaway(code = NO_ERROR, last: 0, debug: "", stream: 0)
      raw(GOAWAY, 0, stream, [last, code].pack("NN") + debug)
    end

    def window_update(stream, bytes)
      raw(WINDOW_UPDATE, 0, stream, [bytes].pack("N"))
    end

    def push_promise(stream, promised, block, flags = END_HEADERS)
      raw(PUSH_PROMISE, flags, stream, [promised].pack("N") + block)
    end

    # --- requests ---

    # @param fields [Array<Array(String, String)>]
    # @param pseudo [Hash] replaces pseudo-fields of the usual request; nil leaves one out
    def request_fields(fields = [], method: "GET", path: "/", **pseudo)
      usual = { ":method" => method, ":scheme" => "http", ":authority" => "test", ":path" => path }
      usual.merge(pseudo.transform_keys { |name| ":#{name}" }).compact.to_a + fields
    end

    # A whole request without a body.
    def get(stream, fields = [], **pseudo)
      last_headers(stream, request_fields(fields, **pseudo))
    end

    # The head of a request with a body.
    def post(stream, fields = [], **pseudo)
      headers(stream, request_fields(fields, method: "POST", **pseudo))
    end

    def padded(bytes, padding)
      return bytes.b unless padding

      [padding].pack("C") + bytes.b + ("\0" * padding)
    end
  end

  # Field blocks of RFC 7541, without Huffman coding.
  module Hpack
    module_function

    # Section 5.1. pattern: the bits before the prefix.
    def integer(value, prefix, pattern = 0)
      most = (1 << prefix) - 1
      return [pattern | value].pack("C") if value < most

      bytes = [pattern | most]
      value -= most
      while value >= 128
        bytes << ((value & 127) | 128)
        value >>= 7
      end
      (bytes << value).pack("C*")
    end

    # Section 5.2.
    def string(text)
      integer(text.bytesize, 7) + text.b
    end

    # A string literal whose bytes are said to be Huffman-coded.
    def huffman(bytes)
      integer(bytes.bytesize, 7, 0x80) + bytes.b
    end

    # Section 6.1.
    def indexed(index)
      integer(index, 7, 0x80)
    end

    # Section 6.2.2. name: a String, or the index of one.
    def literal(name, value)
      representation(name, value, 4, 0x00)
    end

    # Section 6.2.1: it goes to the dynamic table.
    def indexing(name, value)
      representation(name, value, 6, 0x40)
    end

    # Section 6.2.3.
    def never_indexed(name, value)
      representation(name, value, 4, 0x10)
    end

    # Section 6.3.
    def size_update(bytes)
      integer(bytes, 5, 0x20)
    end

    def block(fields)
      fields.map { |name, value| literal(name, value) }.join
    end

    def representation(name, value, prefix, pattern)
      return integer(name, prefix, pattern) + string(value) if name.is_a?(Integer)

      integer(0, prefix, pattern) + string(name) + string(value)
    end
  end
end
