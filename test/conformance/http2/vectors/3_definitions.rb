# frozen_string_literal: true

# RFC 9113 sections 6 and 7: each type of frame, error codes.

MOST = 0x7fffffff

# --- 6.1 DATA ---

row "6.1", "DATA on stream 0: PROTOCOL_ERROR" do
  connection_error "with content", PROTOCOL_ERROR, data(0, "abc")
  connection_error "without", PROTOCOL_ERROR, data(0)
end

row "6.1", "DATA on a stream that is not open: STREAM_CLOSED" do
  stream_error "half-closed (remote)", STREAM_CLOSED, get(1), settle, data(1, "abc"),
               settings: SHUT,
                          also: STREAM_CLOSED, seen: :any
end

row "6.1", "padding as long as the content, or longer: PROTOCOL_ERROR" do
  [[0, "\0"], [3, "\3ab"], [3, "\4abc"], [9, "\xffabc"]].each_with_index do |(_, bytes), i|
    next if i.zero?

    connection_error "#{bytes.getbyte(0)} of #{bytes.bytesize - 1}", PROTOCOL_ERROR, post(1),
                     raw(DATA, PADDED, 1, bytes), seen: :any
  end
  answered "all but nothing of it", post(1), data(1, "abc", padding: 255), last_data(1, padding: 5),
           seen: [{ body: "abc" }]
  answered "none, with the flag", post(1), last_data(1, "abc", padding: 0), seen: [{ body: "abc" }]
end

everywhere "6.1", "padding is sent as zeros", :padding

# --- 6.2 HEADERS ---

row "6.2", "HEADERS on stream 0: PROTOCOL_ERROR" do
  connection_error "a request", PROTOCOL_ERROR, get(0)
end

row "6.2", "HEADERS without END_HEADERS are followed by CONTINUATION of their stream" do
  connection_error "by DATA", PROTOCOL_ERROR, raw(HEADERS, 0, 1, Hpack.block(request_fields)),
                   data(1, "a")
  connection_error "by HEADERS", PROTOCOL_ERROR, raw(HEADERS, 0, 1, Hpack.block(request_fields)),
                   get(1)
end

row "6.2", "padding as long as what is left, or longer: PROTOCOL_ERROR" do
  block = Hpack.block(request_fields)
  connection_error "longer", PROTOCOL_ERROR, raw(HEADERS, 0xd, 1, "\xff".b + block)
  connection_error "as long", PROTOCOL_ERROR,
                   raw(HEADERS, 0xd, 1, [block.bytesize + 1].pack("C") + block)
  answered "shorter", last_headers(1, request_fields, padding: 200)
end

everywhere "6.2", "padding is sent as zeros", :padding

# --- 6.3 PRIORITY ---

row "6.3", "PRIORITY on stream 0: PROTOCOL_ERROR" do
  connection_error "of five bytes", PROTOCOL_ERROR, priority(0)
end

# nghttp2 treats it as an error of the connection, as any error of a stream may be.
row "6.3", "PRIORITY of another length than 5: FRAME_SIZE_ERROR of the stream" do
  [0, 4, 6].each do |bytes|
    stream_error "#{bytes} bytes", FRAME_SIZE_ERROR, post(1), raw(PRIORITY, 0, 1, "\0" * bytes),
                 also: FRAME_SIZE_ERROR, seen: :any
  end
end

# RFC 9113 leaves out what RFC 7540 section 5.3.1 said of it.
row "6.3", "a stream that depends on itself may be an error" do
  dropped "in PRIORITY", post(1), priority(1, on: 1), resets: PROTOCOL_ERROR, also: PROTOCOL_ERROR
  dropped "in HEADERS", headers(1, priority_fields(1) + Hpack.block(request_fields), 0x25),
          resets: PROTOCOL_ERROR, also: PROTOCOL_ERROR
end

# --- 6.4 RST_STREAM ---

row "6.4", "RST_STREAM on stream 0: PROTOCOL_ERROR" do
  connection_error "CANCEL", PROTOCOL_ERROR, rst_stream(0)
end

row "6.4", "RST_STREAM of an idle stream: PROTOCOL_ERROR" do
  connection_error "the next one", PROTOCOL_ERROR, rst_stream(1)
  connection_error "one above", PROTOCOL_ERROR, get(1), response(1), rst_stream(3), seen: [{}]
end

row "6.4", "RST_STREAM of another length than 4: FRAME_SIZE_ERROR" do
  [0, 3, 5].each do |bytes|
    connection_error "#{bytes} bytes", FRAME_SIZE_ERROR, post(1),
                     raw(RST_STREAM, 0, 1, "\0" * bytes),
                     seen: :any
  end
end

row "6.4", "nothing is sent for a stream that its client has reset" do
  ignored "a response that waits for its window", get(1), settle, rst_stream(1), settle,
          OPEN_IT[1], settings({ INITIAL_WINDOW_SIZE => 65_535 }), settings: SHUT,
            seen: :any do |client|
    "#{client.seen(1).body.bytesize} bytes of content came" unless client.seen(1).body.empty?
  end
end

row "6.4", "frames that were sent before a reset arrived are processed" do
  stream_error "of a stream that the server resets", PROTOCOL_ERROR,
               post(1, [["upgrade", "h2c"]]) + data(1, "abc"), data(1, "def"), window_update(1, 1)
end

everywhere "6.4", "no RST_STREAM for an idle stream is sent", :streams

# --- 6.5 SETTINGS ---

everywhere "6.5", "SETTINGS are sent at the start", :preface

row "6.5", "all settings of the document are supported" do
  answered "each of them", get(1), settings: {
    HEADER_TABLE_SIZE => 100, ENABLE_PUSH => 0, MAX_CONCURRENT_STREAMS => 1,
    INITIAL_WINDOW_SIZE => 100_000, MAX_FRAME_SIZE => 0xffffff, MAX_HEADER_LIST_SIZE => 1_000
  }
  answered "that allow nothing to be pushed", get(1), settings: { MAX_CONCURRENT_STREAMS => 0 }
end

row "6.5", "an acknowledgement with content: FRAME_SIZE_ERROR" do
  connection_error "six bytes", FRAME_SIZE_ERROR, settings({ ENABLE_PUSH => 0 }, ACK)
  connection_error "one byte", FRAME_SIZE_ERROR, raw(SETTINGS, ACK, 0, "a")
end

row "6.5", "SETTINGS on another stream than 0: PROTOCOL_ERROR" do
  connection_error "an idle one", PROTOCOL_ERROR, settings({}, stream: 1)
  connection_error "an open one", PROTOCOL_ERROR, post(1), settings({}, stream: 1), seen: :any
end

row "6.5", "SETTINGS whose length is no multiple of 6: FRAME_SIZE_ERROR" do
  [1, 5, 7].each do |bytes|
    connection_error "#{bytes} bytes", FRAME_SIZE_ERROR, raw(SETTINGS, 0, 0, "\0" * bytes)
  end
end

row "6.5.2", "SETTINGS_ENABLE_PUSH other than 0 and 1: PROTOCOL_ERROR" do
  connection_error "2", PROTOCOL_ERROR, settings({ ENABLE_PUSH => 2 })
  connection_error "the most", PROTOCOL_ERROR, settings({ ENABLE_PUSH => 0xffffffff })
  answered "1", get(1), settings: { ENABLE_PUSH => 1 }
end

everywhere "6.5.2", "the server does not set SETTINGS_ENABLE_PUSH to 1", :push
everywhere "6.5.2", "no PUSH_PROMISE is sent to a client that has set it to 0", :types

row "6.5.2", "SETTINGS_INITIAL_WINDOW_SIZE over 2^31-1: FLOW_CONTROL_ERROR" do
  connection_error "2^31", FLOW_CONTROL_ERROR, settings({ INITIAL_WINDOW_SIZE => 1 << 31 })
  answered "2^31-1", get(1), settings: { INITIAL_WINDOW_SIZE => MOST }
end

row "6.5.2", "SETTINGS_MAX_FRAME_SIZE outside 2^14 to 2^24-1: PROTOCOL_ERROR" do
  [0, 16_383, 1 << 24, 0xffffffff].each do |size|
    connection_error size.to_s, PROTOCOL_ERROR, settings({ MAX_FRAME_SIZE => size })
  end
end

everywhere "6.5.2", "the server's own settings are in their ranges", :settings

row "6.5.2", "a setting that is unknown is ignored" do
  answered "0, 7, 65535", settings({ 0 => 1, 7 => 1, 0xffff => 0xffffffff }), get(1)
end

not_applicable "6.5.2", "a client's treatment of SETTINGS_ENABLE_PUSH and PUSH_PROMISE",
               "binds clients"

row "6.5.3", "the values of a frame are processed in their order" do
  connection_error "a wrong one behind a right one", FLOW_CONTROL_ERROR,
                   settings([[INITIAL_WINDOW_SIZE, 100], [INITIAL_WINDOW_SIZE, 1 << 31]])
  ignored "the last window counts",
          settings([[INITIAL_WINDOW_SIZE, 1000], [INITIAL_WINDOW_SIZE, 1]]),
          get(1), settle, settings({ INITIAL_WINDOW_SIZE => 65_535 }), response(1),
          seen: [{}]
end

row "6.5.3", "each frame of SETTINGS is acknowledged, once it was processed" do
  ignored "three", settings({ INITIAL_WINDOW_SIZE => 10 }), settings, settings, await(SETTINGS),
          await(SETTINGS), await(SETTINGS), await(SETTINGS), await(SETTINGS)
end

everywhere "6.5.3", "no acknowledgement without SETTINGS", :acknowledged

# --- 6.6 PUSH_PROMISE ---

row "6.6", "PUSH_PROMISE of a client: PROTOCOL_ERROR" do
  connection_error "on an open stream", PROTOCOL_ERROR, post(1),
                   push_promise(1, 2, Hpack.block(request_fields)), seen: :any
  connection_error "on stream 0", PROTOCOL_ERROR, push_promise(0, 2, Hpack.block(request_fields))
  connection_error "on an idle stream", PROTOCOL_ERROR,
                   push_promise(1, 2, Hpack.block(request_fields))
  connection_error "without END_HEADERS", PROTOCOL_ERROR, push_promise(1, 2, "", 0),
                   continuation(1, Hpack.block(request_fields))
end

everywhere "6.6", "the server sends no PUSH_PROMISE (its stream, number, padding, CONTINUATION)",
           :types
not_applicable "6.6", "what a client does with PUSH_PROMISE", "binds clients"

# --- 6.7 PING ---

row "6.7", "PING is answered with ACK and the same content" do
  ignored "eight bytes", ping("\0\xff\1abcd\n".b), settle do |client|
    "no answer with its content" unless client.pings.include?("\0\xff\1abcd\n".b)
  end
  answered "before a response that has to wait", get(1), ping, await(PING), OPEN_IT[1],
           settings: SHUT
end

row "6.7", "PING with ACK is not answered" do
  ignored "one that nobody has asked for", ping("unasked!", ACK), settle do |client|
    "it was answered" if client.pings.include?("unasked!")
  end
end

row "6.7", "PING on another stream than 0: PROTOCOL_ERROR" do
  connection_error "1", PROTOCOL_ERROR, ping(stream: 1)
  connection_error "an open one", PROTOCOL_ERROR, post(1), ping(stream: 1), seen: :any
end

row "6.7", "PING of another length than 8: FRAME_SIZE_ERROR" do
  [0, 7, 9].each do |bytes|
    connection_error "#{bytes} bytes", FRAME_SIZE_ERROR, raw(PING, 0, 0, "a" * bytes)
  end
end

# --- 6.8 GOAWAY ---

row "6.8", "GOAWAY on another stream than 0: PROTOCOL_ERROR" do
  connection_error "1", PROTOCOL_ERROR, goaway(stream: 1)
end

row "6.8", "what a client has asked for before its GOAWAY is served" do
  ended "a request under way", post(1), settle, goaway, last_data(1, "abc"), seen: [{ body: "abc" }]
  ended "a response that waits for its window", get(1), settle, goaway, settle, OPEN_IT[1],
        settings: SHUT, seen: [{}]
  ended "with debug data", post(1), goaway(debug: "x" * 1000), last_data(1, "abc"),
        seen: [{ body: "abc" }]
end

not_applicable "6.8", "no stream is opened behind a GOAWAY of the peer", "the server opens none"
everywhere "6.8", "the last stream of a GOAWAY is never higher than in the one before", :last_stream
elsewhere "6.8", "behind its last GOAWAY the server drops new streams and keeps tables",
          "test/c/protocols/test_http2_errors.c", "a_drain_says_so_and_ends_what_has_begun"
not_applicable "6.8", "debug data that is stored is protected", "the server stores none"

# --- 6.9 WINDOW_UPDATE ---

row "6.9", "an increment of 0: PROTOCOL_ERROR, of the stream or of the connection" do
  stream_error "of a stream", PROTOCOL_ERROR, post(1), window_update(1, 0), also: PROTOCOL_ERROR,
               seen: :any
  connection_error "of the connection", PROTOCOL_ERROR, window_update(0, 0)
  connection_error "with the reserved bit", PROTOCOL_ERROR, window_update(0, 1 << 31)
end

row "6.9", "WINDOW_UPDATE on a stream that is half-closed or closed is no error" do
  answered "half-closed", get(1), settle, window_update(1, 1), OPEN_IT[1], settings: SHUT
  ignored "closed", get(1), response(1), window_update(1, 1), seen: [{}]
end

row "6.9", "all content counts for the connection's window, and padding too" do
  answered "more than its 1 MB, in padded frames that wait for their windows",
           window_update(0, 2_000_000), post(1), upload(1, 1_500_000, padding: 255), last_data(1),
           settings: { INITIAL_WINDOW_SIZE => 2_000_000 }, seen: :any
end

row "6.9", "WINDOW_UPDATE of another length than 4: FRAME_SIZE_ERROR" do
  [0, 3, 5].each do |bytes|
    connection_error "#{bytes} bytes", FRAME_SIZE_ERROR, raw(WINDOW_UPDATE, 0, 0, "\1" * bytes)
  end
  connection_error "of a stream", FRAME_SIZE_ERROR, post(1), raw(WINDOW_UPDATE, 0, 1, "\0\0\1"),
                   seen: :any
end

row "6.9", "frames without flow control are received while windows are shut" do
  answered "all of them", get(1), settle, ping, settings, priority(1), raw(0x16, 0, 1), OPEN_IT[1],
           settings: SHUT
end

everywhere "6.9.1", "no content over the windows is sent", :windows

row "6.9.1", "a window over 2^31-1 ends the stream or the connection, FLOW_CONTROL_ERROR" do
  connection_error "of the connection", FLOW_CONTROL_ERROR, window_update(0, MOST)
  stream_error "of a stream", FLOW_CONTROL_ERROR, post(1), window_update(1, MOST), seen: :any
  ignored "at 2^31-1", window_update(0, MOST - 65_535 - 100_000)
end

row "6.9.2", "SETTINGS_INITIAL_WINDOW_SIZE changes the windows of all streams" do
  answered "it opens those that were shut", get(1), get(3), settle,
           settings({ INITIAL_WINDOW_SIZE => 65_535 }), settings: SHUT, on: { 1 => 200, 3 => 200 },
           seen: [{}, {}]
  answered "a window below zero opens later", get(1), settle,
           settings({ INITIAL_WINDOW_SIZE => 2 }),
           settle, window_update(1, 10), settle, OPEN_IT[1], settings: { INITIAL_WINDOW_SIZE => 20 }
end

everywhere "6.9.2", "nothing is sent while a window is below zero", :windows

# RFC 9113 asks for an error of the connection. nghttp2 resets the streams whose windows it is, in
# all
# its versions up to 1.68 (update_remote_initial_window_size_func), and tells nobody why.
row "6.9.2", "a change that brings a window over 2^31-1: FLOW_CONTROL_ERROR" do
  stream_error "of one stream", FLOW_CONTROL_ERROR, post(1), window_update(1, MOST),
               settle, settings({ INITIAL_WINDOW_SIZE => 1 }), settings: SHUT,
               also: FLOW_CONTROL_ERROR, seen: :any
end

not_applicable "6.9.3", "content over a window that was just reduced is accepted",
               "the server never reduces its windows"

# --- 6.10 CONTINUATION ---

row "6.10", "a field block in several frames" do
  block = Hpack.block(request_fields([["x-kept", "yes"]]))
  kept = [{ "HTTP_X_KEPT" => "yes" }]
  answered "a byte in each", raw(HEADERS, END_STREAM, 1, block[0]),
           block[1..5].each_char.map { |byte| continuation(1, byte, 0) }.join,
           continuation(1, block[6..]), seen: kept
  answered "HEADERS without content", raw(HEADERS, END_STREAM, 1), continuation(1, block, 0),
           continuation(1, ""), seen: kept
  answered "trailers in two", post(1), data(1, "abc"),
           raw(HEADERS, END_STREAM, 1, Hpack.block([["x-a", "1"]])), continuation(1, ""),
           seen: [{ body: "abc" }]
end

row "6.10", "another frame behind it: PROTOCOL_ERROR" do
  start = raw(HEADERS, END_STREAM, 1, Hpack.block(request_fields)) + continuation(1, "", 0)
  connection_error "DATA", PROTOCOL_ERROR, start, data(1)
  connection_error "CONTINUATION of another stream", PROTOCOL_ERROR, start, continuation(3, "")
end

row "6.10", "CONTINUATION on stream 0: PROTOCOL_ERROR" do
  connection_error "within a block", PROTOCOL_ERROR,
                   raw(HEADERS, END_STREAM, 1, Hpack.block(request_fields)), continuation(0, "")
  connection_error "alone", PROTOCOL_ERROR, continuation(0, "")
end

row "6.10", "CONTINUATION without a block that goes on: PROTOCOL_ERROR" do
  connection_error "behind HEADERS with END_HEADERS", PROTOCOL_ERROR, post(1), continuation(1, ""),
                   seen: :any
  connection_error "behind CONTINUATION with END_HEADERS", PROTOCOL_ERROR,
                   raw(HEADERS, 0, 1, Hpack.block(request_fields)), continuation(1, ""),
                   continuation(1, ""), seen: :any
  connection_error "behind DATA", PROTOCOL_ERROR, post(1), data(1, "a"), continuation(1, ""),
                   seen: :any
end

everywhere "6.10", "the server's blocks go on without another frame", :contiguous

# --- 7 ---

row "7", "unknown error codes mean nothing special" do
  ignored "of RST_STREAM", post(1), rst_stream(1, 0xbeef), seen: :any
  ended "of GOAWAY", post(1), goaway(0xffffffff), last_data(1, "abc"), seen: [{ body: "abc" }]
end
