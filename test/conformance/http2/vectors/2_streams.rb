# frozen_string_literal: true

# RFC 9113 section 5: states of streams, numbers, concurrency, flow control, errors, extensions.

# A stream stays half-closed (remote) while its response finds no window.
SHUT = { INITIAL_WINDOW_SIZE => 0 }.freeze
OPEN_IT = ->(stream) { window_update(stream, 100_000) }

# --- 5.1 idle ---

row "5.1", "idle: anything but HEADERS and PRIORITY is a connection error, PROTOCOL_ERROR" do
  connection_error "DATA", [PROTOCOL_ERROR, STREAM_CLOSED], data(1, "abc")
  connection_error "RST_STREAM", PROTOCOL_ERROR, rst_stream(1)
  connection_error "WINDOW_UPDATE", PROTOCOL_ERROR, window_update(1, 100)
  connection_error "CONTINUATION", PROTOCOL_ERROR, continuation(1, Hpack.block(request_fields))
  connection_error "DATA above the streams that were opened", [PROTOCOL_ERROR, STREAM_CLOSED],
                   get(1), response(1), data(9, "abc"), seen: [{}]
  ignored "PRIORITY", priority(1)
  answered "PRIORITY, then a request below it", priority(9), get(1)
end

row "5.1", "a stream of the server's that is idle: any frame is a connection error" do
  connection_error "HEADERS", PROTOCOL_ERROR, get(2)
  connection_error "DATA", [PROTOCOL_ERROR, STREAM_CLOSED], data(2, "abc")
  connection_error "RST_STREAM", PROTOCOL_ERROR, rst_stream(2)
  connection_error "WINDOW_UPDATE", PROTOCOL_ERROR, window_update(2, 100)
end

not_applicable "5.1", "reserved (local): what is sent and received", "the server pushes nothing"
not_applicable "5.1", "reserved (remote): what is sent and received", "clients push nothing"

# --- 5.1 half-closed, closed ---

row "5.1", "half-closed (remote): STREAM_CLOSED for all but WINDOW_UPDATE, PRIORITY, RST_STREAM" do
  stream_error "DATA", STREAM_CLOSED, get(1), settle, data(1, "abc"), settings: SHUT,
               also: STREAM_CLOSED, seen: :any
  stream_error "HEADERS", STREAM_CLOSED, get(1), settle, last_headers(1, [["x-a", "1"]]),
               settings: SHUT, also: STREAM_CLOSED, seen: :any
  connection_error "CONTINUATION", [STREAM_CLOSED, PROTOCOL_ERROR], get(1), settle,
                   continuation(1, Hpack.literal("x-a", "1")), settings: SHUT, seen: :any
  answered "WINDOW_UPDATE", get(1), settle, OPEN_IT[1], settings: SHUT
  answered "PRIORITY", get(1), settle, priority(1), OPEN_IT[1], settings: SHUT
  answered "RST_STREAM", get(1), settle, rst_stream(1), get(3), OPEN_IT[3], settings: SHUT, on: 3,
           seen: :any
end

everywhere "5.1", "half-closed (local): nothing but WINDOW_UPDATE, PRIORITY and RST_STREAM is sent",
           :after_end
everywhere "5.1", "closed: nothing but PRIORITY is sent", :after_end

row "5.1", "closed by both sides: frames may be a connection error, STREAM_CLOSED" do
  ended = [get(1), response(1)]
  closed = { resets: STREAM_CLOSED, also: STREAM_CLOSED }
  dropped "DATA", *ended, data(1, "abc"), **closed
  dropped "HEADERS", *ended, last_headers(1, [["x-a", "1"]]), **closed
  dropped "CONTINUATION", *ended, continuation(1, ""), also: [STREAM_CLOSED, PROTOCOL_ERROR]
  ignored "WINDOW_UPDATE", *ended, window_update(1, 10), seen: [{}]
  ignored "RST_STREAM", *ended, rst_stream(1), seen: [{}]
  ignored "PRIORITY", *ended, priority(1), seen: [{}]
end

row "5.1", "closed by RST_STREAM of the client: what follows is an error, or dropped" do
  reset = [post(1), settle, rst_stream(1), settle]
  closed = { resets: STREAM_CLOSED, also: [STREAM_CLOSED, PROTOCOL_ERROR] }
  dropped "DATA", *reset, data(1, "abc"), **closed
  dropped "HEADERS", *reset, last_headers(1, [["x-a", "1"]]), **closed
  dropped "CONTINUATION", *reset, continuation(1, ""), **closed
end

# The server resets a stream that it has answered before the body ended, and a malformed one.
row "5.1", "closed by RST_STREAM of the server: frames on their way are processed and dropped" do
  malformed = post(1, [["connection", "close"]])
  stream_error "DATA and trailers", PROTOCOL_ERROR, malformed, data(1, "abc"),
               last_headers(1, [["x-a", "1"]])
  stream_error "behind the reset", PROTOCOL_ERROR, malformed, await(RST_STREAM), data(1, "abc"),
               window_update(1, 10), priority(1), rst_stream(1)
  # Else the connection's window of 1 MB would be used up.
  stream_error "their content gives the connection's window back", PROTOCOL_ERROR,
               *[1, 3, 5, 7, 9, 11].flat_map { |id|
                 [post(id, [["connection", "close"]]), upload(id, 240_000)]
               }, window_update(0, 1_000_000), post(21), upload(21, 240_000), last_data(21),
               settings: { INITIAL_WINDOW_SIZE => 1_000_000 }, answers: { 21 => 200 }, seen: :any
end

# --- 5.1.1 ---

row "5.1.1", "streams of the client have odd numbers, else PROTOCOL_ERROR" do
  connection_error "2", PROTOCOL_ERROR, get(2)
  connection_error "2 behind 1", PROTOCOL_ERROR, get(1), response(1), get(2), seen: [{}]
end

everywhere "5.1.1", "streams of the server have even numbers", :streams

# A number that was skipped counts as closed, and section 5.1 lets an endpoint process minimally
# what
# it receives there. nghttp2 cannot tell it from a stream that has ended, and drops it
# (nghttp2_session_on_request_headers_received, 1.43 to 1.68).
row "5.1.1", "a new stream has a higher number than those before, else PROTOCOL_ERROR" do
  dropped "3 behind 5", get(5), response(5), get(3), on: 3, also: [PROTOCOL_ERROR, STREAM_CLOSED],
          seen: [{}]
  dropped "1 behind 3, while 3 is open", post(3), get(1), on: 1,
          also: [PROTOCOL_ERROR, STREAM_CLOSED]
  dropped "the same again", get(1), response(1), get(1), resets: STREAM_CLOSED,
          also: [PROTOCOL_ERROR, STREAM_CLOSED], seen: [{}]
  answered "with gaps", get(1), get(2001), get(0x7ffffff1),
           on: { 1 => 200, 2001 => 200, 0x7ffffff1 => 200 },
                  seen: [{}, {}, {}]
end

# --- 5.1.2 ---

# The server announces 100.
row "5.1.2", "a stream over the limit: PROTOCOL_ERROR or REFUSED_STREAM" do
  many = (0..100).map { |i| post(1 + (2 * i)) }.join
  stream_error "101 at once", [PROTOCOL_ERROR, REFUSED_STREAM], many,
               await(RST_STREAM, stream: 201), rst_stream(1), on: 201, seen: :any
  answered "one of a hundred is reset, and another begins in the same bytes",
           (0..99).map { |i| post(1 + (2 * i)) }.join, rst_stream(1), get(201), on: 201, seen: :any
  connection_error "101 behind the acknowledgement of the limit", PROTOCOL_ERROR, await(SETTINGS),
                   settings({}, ACK), settle, many, seen: :any
end

not_applicable "5.1.2", "endpoints keep to the limit of their peer",
               "the server opens no stream: it pushes nothing"

# --- 5.2, 5.3 ---

everywhere "5.2.1", "the server keeps to the windows of its client", :windows do
  answered "a window of one byte", get(1), *Array.new(3) {
    window_update(1, 1)
  }, settle, OPEN_IT[1],
           settings: { INITIAL_WINDOW_SIZE => 1 }
end

row "5.2.2", "frames are read as soon as they come, whatever window is shut" do
  answered "SETTINGS and WINDOW_UPDATE while nothing can be sent", get(1), settle, settings, settle,
           OPEN_IT[1], settings: SHUT
  answered "while a request body waits for its window", post(1, path: "/b"),
           data(1, "a" * 16_000) * 4, ping,
           get(3), response(3), last_data(1, "end"), on: { 1 => 200, 3 => 200 },
           seen: [{}, { body: "#{"a" * 64_000}end" }]
end

row "5.3", "signals of priority, of RFC 7540, are accepted and need not be acted upon" do
  answered "in HEADERS", headers(1, priority_fields(0) + Hpack.block(request_fields), 0x25)
  answered "in HEADERS, of a stream that is not there",
           headers(1, priority_fields(77, 255, 1) + Hpack.block(request_fields), 0x25)
  answered "in PRIORITY", priority(3, on: 1), priority(1, on: 3, exclusive: 1), get(1)
end

# --- 5.4 ---

row "5.4.1", "behind GOAWAY for an error the connection is closed" do
  connection_error "as everywhere here", PROTOCOL_ERROR, data(0, "abc")
  connection_error "while requests wait", PROTOCOL_ERROR, get(1), settle, data(0, "abc"),
                   settings: SHUT, seen: :any
end

everywhere "5.4.1", "GOAWAY names the last stream", :last_stream

row "5.4.2", "RST_STREAM is not answered with RST_STREAM" do
  check = ->(client) { "it was" if client.seen(1).code }
  ignored("of an open stream", post(1), settle, rst_stream(1), seen: :any, &check)
  ignored("twice", post(1), settle, rst_stream(1), rst_stream(1), seen: :any, &check)
  ignored("of a stream that has ended", get(1), response(1), rst_stream(1), seen: :any, &check)
  ignored("with PROTOCOL_ERROR", post(1), settle, rst_stream(1, PROTOCOL_ERROR), seen: :any, &check)
end

everywhere "5.4.2", "RST_STREAM comes once for a stream", :one_reset

row "5.4.2", "frames on their way to a stream that the server resets are received" do
  stream_error "a body whose request is malformed", PROTOCOL_ERROR,
               post(1, [["te", "gzip"]]) + data(1, "abc") + last_data(1, "def")
end

# --- 5.5 ---

row "5.5", "unknown values in elements that can be extended are ignored" do
  answered "a type of frames", raw(0xbe, 0x55, 0, "x" * 100), get(1)
  answered "a setting", settings({ 0xbeef => 77 }), get(1)
  ended "an error code", post(1), goaway(0xbeef), last_data(1, "abc"), seen: [{ body: "abc" }]
end

row "5.5", "an unknown frame within a field block is a connection error, PROTOCOL_ERROR" do
  connection_error "between HEADERS and CONTINUATION", PROTOCOL_ERROR,
                   raw(HEADERS, 1, 1, Hpack.block(request_fields)), raw(0xbe, 0, 1),
                   continuation(1, "")
end

not_applicable "5.5", "extensions that change the protocol are negotiated",
               "the server offers one, SETTINGS_NO_RFC7540_PRIORITIES (RFC 9218), which informs"
