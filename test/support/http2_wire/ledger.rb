# frozen_string_literal: true

# What both sides of a connection of HTTP/2 have said, and the rules that bind the server's side
# (RFC 9113). Each rule has a name in RULES; the table of conformance points to them.

require "protocol/hpack"

module Http2Wire
  # What a server may send. The message says what was seen.
  RULES = {
    preface: "SETTINGS without ACK is the first frame",
    frame_size: "no frame is larger than the client's SETTINGS_MAX_FRAME_SIZE",
    types: "only frames of a type that a server sends",
    flags: "no flag that the type does not have",
    reserved: "the reserved bit is not set",
    lengths: "PING, RST_STREAM, SETTINGS, WINDOW_UPDATE and GOAWAY have their length",
    streams: "stream 0 for the connection's frames, a stream that the client has opened for others",
    padding: "padding is zero, and shorter than the frame",
    contiguous: "nothing comes between HEADERS and its CONTINUATION",
    decodes: "a field block can be decompressed",
    table_size: "a field block begins with the table's new size, once a smaller one holds",
    after_end: "a stream that has ended, or was reset, gets nothing more",
    one_reset: "RST_STREAM comes once for a stream",
    windows: "content fits into the windows of its stream and of the connection",
    acknowledged: "no more SETTINGS are acknowledged than were sent",
    push: "settings of the server leave SETTINGS_ENABLE_PUSH out, or at 0",
    settings: "settings of the server have values that are allowed",
    names: "names of fields are lower case, and hold no byte that is not allowed",
    values: "values of fields hold no NUL, CR or LF, and do not begin or end with a blank",
    connection_fields: "no field of one connection",
    status: "a response has one :status, before its other fields, and no other pseudo-field",
    trailers: "trailers have no pseudo-field, and end the stream",
    last_stream: "GOAWAY names no higher stream than the one before, and none that is not there"
  }.freeze

  # A stream as the client sees it.
  Stream = Struct.new(:window, :answered, :ended, :reset, :left)

  class Ledger
    CONNECTION_FIELDS = %w[connection keep-alive proxy-connection transfer-encoding upgrade].freeze
    FLAGS = { DATA => 0x9, HEADERS => 0x2d, RST_STREAM => 0, SETTINGS => 1, PING => 1, GOAWAY => 0,
              WINDOW_UPDATE => 0, CONTINUATION => 4 }.freeze
    OF_CONNECTION = [SETTINGS, PING, GOAWAY].freeze
    # RFC 9113 section 8.2.1; what RFC 9110 section 5.1 allows is stricter.
    NAME = /\A[!#$%&'*+\-.^_`|~0-9a-z]+\z/
    VALUE = /\A(?![ \t])[^\0\r\n]*(?<![ \t])\z/n

    # highest_opened: of the streams that the client has opened.
    attr_reader :highest_opened, :server_settings

    def initialize
      @unsent = String.new(encoding: Encoding::BINARY)
      @highest_opened = 0
      @streams = Hash.new { |hash, id| hash[id] = Stream.new(@initial_window) }
      @window = @initial_window = 65_535
      @table_size = 4096
      @frame_size = 16_384
      @unacknowledged = []
      @context = Protocol::HPACK::Context.new
      @server_settings = {}
      @last_goaway = 0x7fffffff
      @received = 0
      @server_window = 65_535
      @server_windows = Hash.new(0)
    end

    # --- what the client sends ---

    # @param bytes [String] the next ones; the preface is passed over
    def sent(bytes)
      @unsent << bytes
      @unsent.slice!(0, PREFACE.bytesize) if @unsent.start_with?(PREFACE)
      at = 0
      while @unsent.bytesize >= at + 9
        length, type, flags, stream = Frames.parse_head(@unsent, at)
        break if @unsent.bytesize < at + 9 + length

        payload = @unsent.byteslice(at + 9, length)
        note_sent(Frame.new(type, flags, stream & 0x7fffffff, payload))
        at += 9 + length
      end
      @unsent.slice!(0, at)
    end

    # --- what the server sends ---

    def check_length(length)
      rule(:frame_size, length <= @frame_size, "#{length} bytes, of #{@frame_size}")
    end

    # @return [Array, nil] the fields of a head that is complete now
    def received(frame)
      check_shape(frame)
      check_place(frame)
      @received += 1
      case frame.type
      when SETTINGS then settings(frame)
      when GOAWAY then goaway(frame)
      when WINDOW_UPDATE then window_update(frame)
      when RST_STREAM then reset(frame)
      when DATA then content(frame)
      when HEADERS, CONTINUATION then head(frame)
      end
    end

    # Bytes that the client may send now, with the heads of their frames.
    def room(stream)
      own = @server_settings.fetch(INITIAL_WINDOW_SIZE, 65_535) + @server_windows[stream]
      [own, @server_window].min
    end

    # Whether a new stream gets less of a window than usual.
    def narrow?
      @initial_window < 65_535
    end

    def response_ended?(stream)
      @streams.key?(stream) && @streams[stream].ended
    end

    private

    def rule(name, kept, seen)
      return if kept

      raise Wire::Malformed, "#{name}: #{RULES.fetch(name)}; seen: #{seen}"
    end

    # --- sent ---

    def note_sent(frame)
      case frame.type
      when DATA
        @server_window -= frame.payload.bytesize
        @server_windows[frame.stream] -= frame.payload.bytesize
      when HEADERS then opened(frame)
      when WINDOW_UPDATE then granted(frame)
      when RST_STREAM then @streams[frame.stream].left = true if @streams.key?(frame.stream)
      when SETTINGS
        @unacknowledged << frame.payload unless frame.flag?(ACK)
      end
    end

    def opened(frame)
      return unless frame.stream > @highest_opened

      @highest_opened = frame.stream
      @streams[frame.stream]
    end

    def granted(frame)
      bytes = frame.payload.unpack1("N").to_i & 0x7fffffff
      if frame.stream.zero?
        @window += bytes
      elsif @streams.key?(frame.stream)
        @streams[frame.stream].window += bytes
      end
    end

    # The server has taken over the oldest settings that were sent.
    def apply(payload)
      payload.unpack("nN" * (payload.bytesize / 6)).each_slice(2) do |identifier, value|
        case identifier
        when INITIAL_WINDOW_SIZE
          @streams.each_value { |stream| stream.window += value - @initial_window }
          @initial_window = value
        when MAX_FRAME_SIZE then @frame_size = value
        when HEADER_TABLE_SIZE
          @smallest = [@smallest || value, value].min if value < @table_size
          @table_size = value
        end
      end
    end

    # --- received: any frame ---

    def check_shape(frame)
      rule(:types, FLAGS.key?(frame.type), "type #{frame.type}")
      rule(:flags, (frame.flags & ~FLAGS[frame.type]).zero?,
           "flags #{frame.flags} of #{frame.type}")
      rule(:reserved, frame.stream < 1 << 31, "stream #{frame.stream}")
      rule(:lengths, length_right?(frame), "#{frame.payload.bytesize} bytes of type #{frame.type}")
      rule(:preface, @received.positive? || (frame.type == SETTINGS && !frame.flag?(ACK)),
           "type #{frame.type}, flags #{frame.flags}")
      unpad(frame) if [DATA, HEADERS].include?(frame.type) && frame.flag?(PADDED)
    end

    def length_right?(frame)
      size = frame.payload.bytesize
      case frame.type
      when PING then size == 8
      when RST_STREAM then size == 4
      when WINDOW_UPDATE then size == 4 && frame.payload.unpack1("N").between?(1, 0x7fffffff)
      when SETTINGS then frame.flag?(ACK) ? size.zero? : (size % 6).zero?
      when GOAWAY then size >= 8
      else true
      end
    end

    def unpad(frame)
      count = frame.payload.getbyte(0).to_i
      rule(:padding, frame.payload.bytesize > count && frame.payload[-count,
                                                                     count].count("^\0").zero?,
           "#{count} of #{frame.payload.bytesize} bytes")
      frame.payload = frame.payload[1..-(count + 1)]
    end

    def check_place(frame)
      id = frame.stream
      if OF_CONNECTION.include?(frame.type)
        rule(:streams, id.zero?, "type #{frame.type} on stream #{id}")
      elsif frame.type != WINDOW_UPDATE || id.positive?
        rule(:streams, id.odd? && id <= @highest_opened, "type #{frame.type} on stream #{id}")
        check_state(frame, @streams[id])
      end
      heading = @heading && [frame.type, id] == [CONTINUATION, @heading]
      rule(:contiguous, @heading ? heading : frame.type != CONTINUATION,
           "type #{frame.type} on stream #{id}")
    end

    def check_state(frame, stream)
      rule(:one_reset, !(stream.reset && frame.type == RST_STREAM), "stream #{frame.stream}")
      over = stream.reset || (stream.ended && ![RST_STREAM, WINDOW_UPDATE].include?(frame.type))
      over &&= !(frame.type == CONTINUATION && @heading)
      rule(:after_end, !over, "type #{frame.type} on stream #{frame.stream}")
    end

    # --- received: by type ---

    def settings(frame)
      if frame.flag?(ACK)
        rule(:acknowledged, @unacknowledged.any?, "an ACK too many")
        return apply(@unacknowledged.shift)
      end
      values = frame.payload.unpack("nN" * (frame.payload.bytesize / 6)).each_slice(2).to_h
      rule(:push, values.fetch(ENABLE_PUSH, 0).zero?, values)
      rule(:settings, values.fetch(INITIAL_WINDOW_SIZE, 0) <= 0x7fffffff &&
                      values.fetch(MAX_FRAME_SIZE, 16_384).between?(16_384, 0xffffff), values)
      @server_settings.merge!(values)
      nil
    end

    def goaway(frame)
      last = frame.payload.unpack1("N")
      rule(:last_stream, last <= @last_goaway && (last == 0x7fffffff || last <= @highest_opened),
           "#{last} behind #{@last_goaway}")
      @last_goaway = last
      nil
    end

    def window_update(frame)
      bytes = frame.payload.unpack1("N")
      return @server_window += bytes if frame.stream.zero?

      @server_windows[frame.stream] += bytes
    end

    def reset(frame)
      @streams[frame.stream].reset = true
      nil
    end

    def content(frame)
      stream = @streams[frame.stream]
      size = frame.payload.bytesize
      rule(:status, stream.answered, "content before a head on stream #{frame.stream}")
      rule(:windows, size.zero? || size <= [stream.window, @window].min,
           "#{size} bytes, windows #{stream.window} and #{@window}")
      stream.window -= size
      @window -= size
      stream.ended = true if frame.flag?(END_STREAM)
      nil
    end

    def head(frame)
      if frame.type == HEADERS
        @heading = frame.stream
        @ends = frame.flag?(END_STREAM)
        @block = String.new(encoding: Encoding::BINARY)
        frame.payload = frame.payload[5..] if frame.flag?(WITH_PRIORITY)
      end
      @block << frame.payload
      return unless frame.flag?(END_HEADERS)

      @heading = nil
      fields = decode(@block)
      check_fields(fields)
      check_message(fields, @streams[frame.stream])
      fields
    end

    # --- fields ---

    def decode(block)
      check_table_size(block)
      Protocol::HPACK::Decompressor.new(block, @context).decode
    rescue Protocol::HPACK::Error => e
      rule(:decodes, false, "#{e.class}: #{e.message}")
    end

    # RFC 9113 section 4.3.1; RFC 7541 section 4.2.
    def check_table_size(block)
      return unless @smallest

      update = block.getbyte(0).to_i
      rule(:table_size, update & 0xe0 == 0x20, "a block that begins with #{update}")
      size = Protocol::HPACK::Decompressor.new(block.dup).read_integer(5)
      rule(:table_size, size <= @smallest, "#{size}, where #{@smallest} is the most")
      @smallest = nil
    end

    def check_fields(fields)
      fields.each do |name, value|
        plain = name.delete_prefix(":")
        rule(:names, plain.match?(NAME), name.inspect)
        rule(:values, value.b.match?(VALUE), "#{name}: #{value.inspect}")
        rule(:connection_fields, !CONNECTION_FIELDS.include?(plain), name)
      end
    end

    def check_message(fields, stream)
      pseudo = fields.select { |name, _| name.start_with?(":") }
      if stream.answered
        rule(:trailers, pseudo.empty? && @ends, fields)
      else
        rule(:status, pseudo.map(&:first) == [":status"] && fields.first.first == ":status" &&
                      pseudo[0][1].match?(/\A[1-5]\d\d\z/), fields)
        stream.answered = !pseudo[0][1].start_with?("1")
        rule(:status, stream.answered || !@ends, "an interim response that ends the stream")
      end
      stream.ended = true if @ends
    end
  end
end
