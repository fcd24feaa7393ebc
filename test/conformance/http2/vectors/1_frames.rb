# frozen_string_literal: true

# RFC 9113 sections 3.4 and 4: the preface, the format and size of frames, field blocks.

document "RFC 9113"

FRAME_BYTES = 16_384
OF_FRAME = [FRAME_SIZE_ERROR].freeze

# --- 3.4 ---

row "3.4", "the client's preface is accepted, with SETTINGS that may be empty" do
  answered "empty SETTINGS", get(1)
  answered "SETTINGS with values", get(1), settings: { ENABLE_PUSH => 0, MAX_FRAME_SIZE => 20_000 }
  answered "a request before the server's SETTINGS were seen and acknowledged",
           get(1) + settings({}, ACK)
end

everywhere "3.4", "the server's first frame is SETTINGS", :preface

row "3.4", "the client's SETTINGS are acknowledged" do
  answered "SETTINGS, and one more", settings, get(1), await(SETTINGS), await(SETTINGS)
end

row "3.4", "an invalid preface is a connection error; GOAWAY may be left out" do
  connection_error "no SETTINGS behind it", PROTOCOL_ERROR, PREFACE + ping, bare: true
  connection_error "an ACK behind it", PROTOCOL_ERROR, PREFACE + settings({}, ACK), bare: true
  connection_error "a request behind it", PROTOCOL_ERROR, PREFACE + get(1), bare: true
end

elsewhere "3.4", "another text than the preface is answered as HTTP/1.1, and the connection ends",
          "test/c/protocols/test_http2_errors.c", "PRI * HTTP/2.0\\r\\n\\r\\nXX"

# --- 4.1 ---

everywhere "4.1", "no frame is larger than the client allows", :frame_size do
  answered "a content of four frames", settings, get(1),
           last_headers(3, request_fields([["x-long", "a" * 10_000]])), on: { 1 => 200, 3 => 200 },
           seen: [{}, {}]
end

row "4.1", "frames of unknown types are ignored" do
  ignored "on stream 0", raw(0x16, 0, 0, "unknown")
  ignored "on an idle stream", raw(0x16, 0xff, 7, "unknown")
  ignored "of type 255, without content", raw(0xff, 0, 0)
  answered "in an open stream", post(1), raw(0x16, 0x1, 1, "unknown"), last_data(1, "abc"),
           seen: [{ body: "abc" }]
end

row "4.1", "flags that a type does not have are ignored" do
  answered "of DATA and HEADERS", headers(1, request_fields(method: "POST"), END_HEADERS | 0xd2),
           data(1, "abc", END_STREAM | 0xf6), seen: [{ body: "abc" }]
  answered "of SETTINGS, PING, WINDOW_UPDATE", raw(SETTINGS, 0xfe, 0),
           raw(PING, 0xfe, 0, "12345678"),
           raw(WINDOW_UPDATE, 0xff, 0, "\0\0\0\1"), get(1)
  ignored "of PRIORITY", raw(PRIORITY, 0xff, 5, priority_fields(0))
  answered "of CONTINUATION", raw(HEADERS, END_STREAM, 1, Hpack.block(request_fields)),
           raw(CONTINUATION, END_HEADERS | 0xfb, 1, Hpack.literal("x-a", "1"))
  answered "of RST_STREAM", post(1), raw(RST_STREAM, 0xff, 1, [CANCEL].pack("N")), get(3), on: 3,
           seen: :any
end

row "4.1", "the reserved bit is ignored" do
  answered "of every frame", raw(SETTINGS, 0, 0, reserved: 1),
           raw(HEADERS, END_HEADERS, 1, Hpack.block(request_fields(method: "POST")), reserved: 1),
           raw(DATA, END_STREAM, 1, "abc", reserved: 1),
           raw(PING, 0, 0, "12345678", reserved: 1), seen: [{ body: "abc" }]
end

everywhere "4.1", "unused flags and the reserved bit are not set", :flags, :reserved, :types

# --- 4.2 ---

row "4.2", "frames of 16,384 bytes are received" do
  answered "DATA", post(1), last_data(1, "a" * FRAME_BYTES), seen: [{ body: "a" * FRAME_BYTES }]
  answered "HEADERS", last_headers(1, request_fields([["x-long", "a" * (FRAME_BYTES - 70)]]))
  ignored "of an unknown type", raw(0x20, 0, 0, "a" * FRAME_BYTES)
end

row "4.2", "a frame over the size that was advertised: FRAME_SIZE_ERROR" do
  stream_error "DATA", OF_FRAME, post(1), last_data(1, "a" * (FRAME_BYTES + 1)), also: OF_FRAME
  connection_error "HEADERS", OF_FRAME, raw(HEADERS, 5, 1, "a" * (FRAME_BYTES + 1))
  connection_error "SETTINGS", OF_FRAME, raw(SETTINGS, 0, 0, "\0" * (6 * 2731))
  connection_error "CONTINUATION", OF_FRAME, raw(HEADERS, 1, 1, Hpack.block(request_fields)),
                   raw(CONTINUATION, 4, 1, "a" * (FRAME_BYTES + 1))
  connection_error "the largest there can be", OF_FRAME, raw(DATA, 0, 1, "a", length: 0xffffff)
end

row "4.2",
    "a frame too small for its fields: FRAME_SIZE_ERROR, of the connection where it matters" do
  connection_error "PING", OF_FRAME, raw(PING, 0, 0, "1234567")
  connection_error "PING without content", OF_FRAME, raw(PING, 0, 0)
  connection_error "RST_STREAM", OF_FRAME, post(1), raw(RST_STREAM, 0, 1, "\0\0\0"), seen: :any
  connection_error "WINDOW_UPDATE", OF_FRAME, raw(WINDOW_UPDATE, 0, 0, "\0\0\1")
  connection_error "GOAWAY", OF_FRAME, raw(GOAWAY, 0, 0, "\0" * 7)
  connection_error "HEADERS with PADDED and nothing else", [FRAME_SIZE_ERROR, PROTOCOL_ERROR],
                   raw(HEADERS, END_HEADERS | PADDED, 1)
  connection_error "HEADERS with PRIORITY and four bytes", [FRAME_SIZE_ERROR, PROTOCOL_ERROR],
                   raw(HEADERS, END_HEADERS | WITH_PRIORITY, 1, "\0\0\0\0")
  stream_error "DATA with PADDED and nothing else", [FRAME_SIZE_ERROR, PROTOCOL_ERROR], post(1),
               raw(DATA, PADDED, 1), also: [FRAME_SIZE_ERROR, PROTOCOL_ERROR], seen: :any
end

# --- 4.3 ---

row "4.3", "a field block is one sequence of frames, with nothing in between" do
  { "DATA of the stream" => data(1, "abc"), "PRIORITY" => priority(1), "PING" => ping,
    "SETTINGS" => settings, "HEADERS of another stream" => get(3),
    "CONTINUATION of another stream" => continuation(3, ""), "RST_STREAM" => rst_stream(1),
    "WINDOW_UPDATE" => window_update(0, 1), "an unknown type" => raw(0x16, 0, 1, "x"),
    "GOAWAY" => goaway }.each do |name, between|
    connection_error name, PROTOCOL_ERROR, raw(HEADERS, END_STREAM, 1, Hpack.block(request_fields)),
                     between, continuation(1, Hpack.literal("x-a", "1"))
  end
end

row "4.3", "a field block that is not decompressed is a connection error, COMPRESSION_ERROR" do
  connection_error "cut in an integer", COMPRESSION_ERROR, last_headers(1, "\x82\x86\x84\x7f\xff".b)
  connection_error "cut in a string", COMPRESSION_ERROR, last_headers(1, "\x82\x86\x84\x41\x08te".b)
  connection_error "in trailers", COMPRESSION_ERROR, post(1), data(1, "abc"),
                   last_headers(1, "\xff\xff\xff\xff\xff\xff\xff".b), seen: :any
  connection_error "in CONTINUATION", COMPRESSION_ERROR,
                   raw(HEADERS, END_STREAM, 1, Hpack.block(request_fields)),
                   continuation(1, "\xff\xff\xff\xff\xff\xff\xff".b)
  connection_error "of a stream that was reset", COMPRESSION_ERROR, post(1), rst_stream(1),
                   last_headers(1, "\xff\xff\xff\xff\xff\xff\xff".b), seen: :any
end

# Both ends keep one table: what a block that is not served has put there is there afterwards.
row "4.3", "the blocks of requests that are not served change the state of compression" do
  again = Hpack.block(request_fields) + Hpack.indexed(62)
  kept = { seen: [{ "HTTP_X_KEPT" => "yes" }] }
  stream_error "a malformed request", PROTOCOL_ERROR,
               last_headers(1, Hpack.block(request_fields) + Hpack.indexing("x-kept", "yes") +
                               Hpack.literal("Upper", "1")),
               last_headers(3, again), answers: { 3 => 200 }, **kept
  answered "trailers of a stream that the client has reset", post(1), rst_stream(1),
           last_headers(1, Hpack.indexing("x-kept", "yes")), last_headers(3, again), on: 3,
           seen: :any
end

row "4.3.1", "a smaller SETTINGS_HEADER_TABLE_SIZE is kept by the server's encoder" do
  answered "none at all", get(1), get(3), settings: { HEADER_TABLE_SIZE => 0 },
           on: { 1 => 200, 3 => 200 }, seen: [{}, {}]
  answered "smaller while it is in use", get(1), response(1), settings({ HEADER_TABLE_SIZE => 60 }),
           get(3), response(3), settings({ HEADER_TABLE_SIZE => 4096 }), get(5),
           on: { 1 => 200, 3 => 200, 5 => 200 }, seen: [{}, {}, {}]
  answered "twice, so that the smallest counts", get(1), response(1),
           settings({ HEADER_TABLE_SIZE => 0 }) + settings({ HEADER_TABLE_SIZE => 4096 }), get(3),
           on: { 1 => 200, 3 => 200 }, seen: [{}, {}]
end

everywhere "4.3.1", "the server's field block begins with a table size once a smaller one holds",
           :table_size, :decodes

not_applicable "4.3.1", "a block behind the reduction of the server's own table without an update",
               "the server leaves its table at 4,096 bytes and never reduces it"
