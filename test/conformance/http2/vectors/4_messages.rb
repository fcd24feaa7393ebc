# frozen_string_literal: true

# RFC 9113 section 8: messages, fields, pseudo-fields, CONNECT, what was not processed.

# --- 8.1 ---

row "8.1", "a request is HEADERS, DATA and trailers, each at its place" do
  answered "with content and trailers", post(1), data(1, "abc"), last_headers(1, [["x-sum", "1"]]),
           seen: [{ body: "abc" }]
  answered "with trailers and no content", post(1), last_headers(1, [["x-sum", "1"]])
  answered "with content that ends in an empty frame", post(1), data(1, "abc"), last_data(1),
           seen: [{ body: "abc" }]
end

row "8.1", "pseudo-fields in trailers are malformed" do
  [[":path", "/"], [":status", "200"], [":method", "GET"], [":other", "1"]].each do |field|
    stream_error field.first, PROTOCOL_ERROR, post(1), data(1, "abc"), last_headers(1, [field]),
                 seen: :any
  end
end

row "8.1", "HEADERS that follow the first and do not end the stream are malformed" do
  stream_error "behind content", PROTOCOL_ERROR, post(1), data(1, "abc"),
               headers(1, [["x-a", "1"]]),
               also: PROTOCOL_ERROR, seen: :any
  stream_error "behind the head", PROTOCOL_ERROR, post(1), headers(1, [["x-a", "1"]]),
               also: PROTOCOL_ERROR, seen: :any
  stream_error "a second request", PROTOCOL_ERROR, post(1), post(1), also: PROTOCOL_ERROR,
seen: :any
end

# The client may have its answer before it has sent all.
row "8.1", "a response before the request has ended is followed by RST_STREAM with NO_ERROR" do
  answered "a body that is too long by its content-length",
           post(1, [["content-length", "99999999999"]]), await(RST_STREAM), on: { 1 => 413 },
           seen: [] do |client|
    "reset with #{client.seen(1).code}" unless client.seen(1).code == NO_ERROR
  end
end

everywhere "8.1", "a response ends once; its trailers have no pseudo-field", :after_end, :trailers,
           :status
not_applicable "8.1", "a response is not discarded for a RST_STREAM behind it", "binds clients"

# --- 8.1.1 ---

row "8.1.1", "a request that is malformed is a stream error, PROTOCOL_ERROR" do
  stream_error "content shorter than content-length", PROTOCOL_ERROR,
               post(1, [["content-length", "5"]]), last_data(1, "abcd"), seen: :any
  stream_error "content longer, in one frame", PROTOCOL_ERROR, post(1, [["content-length", "5"]]),
               last_data(1, "abcdef"), seen: :any
  stream_error "content longer, in two", PROTOCOL_ERROR, post(1, [["content-length", "5"]]),
               data(1, "abc"), last_data(1, "def"), seen: :any
  stream_error "no content, where content-length says some", PROTOCOL_ERROR,
               get(1, [["content-length", "1"]])
  stream_error "shorter, ended by trailers", PROTOCOL_ERROR, post(1, [["content-length", "5"]]),
               data(1, "abc"), last_headers(1, [["x-a", "1"]]), seen: :any
  stream_error "two content-lengths", PROTOCOL_ERROR,
               post(1, [["content-length", "3"], ["content-length", "3"]]), last_data(1, "abc")
  stream_error "a content-length that is no number", PROTOCOL_ERROR,
               post(1, [["content-length", "+3"]]), last_data(1, "abc")
  stream_error "a content-length out of all bounds", PROTOCOL_ERROR,
               post(1, [["content-length", "9" * 30]]), last_data(1, "abc")
  answered "content as long as content-length", post(1, [["content-length", "6"]]), data(1, "abc"),
           data(1), last_data(1, "def", padding: 7),
           seen: [{ body: "abcdef", "CONTENT_LENGTH" => "6" }]
  answered "content-length 0 and no content", get(1, [["content-length", "0"]])
end

not_applicable "8.1.1",
               "malformed messages are not forwarded; malformed responses are not accepted",
               "binds intermediaries and clients"

# --- 8.2 ---

everywhere "8.2", "names of fields are sent in lower case", :names, :values

row "8.2.1", "names with characters that are not allowed are malformed" do
  ["Upper", "x-Y", "a b", "a\0", "a\n", "a\r", "a\x1f", "a\x7f", "a\x80", "a\xff", " a",
   "\ta"].each do |name|
    stream_error name.b.inspect, PROTOCOL_ERROR, get(1, [[name, "1"]])
  end
  stream_error "an empty name", PROTOCOL_ERROR, get(1, [["", "1"]])
end

row "8.2.1", "names with a colon that is not their first byte are malformed" do
  stream_error "within", PROTOCOL_ERROR, get(1, [["a:b", "1"]])
  stream_error "at the end", PROTOCOL_ERROR, get(1, [["a:", "1"]])
end

row "8.2.1", "values with NUL, LF or CR are malformed" do
  ["a\0b", "a\nb", "a\rb", "\n", "\0", "a\r\nx: 1"].each do |value|
    stream_error value.inspect, PROTOCOL_ERROR, get(1, [["x-a", value]])
  end
  stream_error "in a pseudo-field", [PROTOCOL_ERROR], get(1, path: "/a\nb")
  stream_error "in trailers", PROTOCOL_ERROR, post(1), data(1, "a"),
               last_headers(1, [["x-a", "a\nb"]]),
               seen: :any
  stream_error "in a cookie", PROTOCOL_ERROR, get(1, [["cookie", "a=1\r\nb"]])
end

row "8.2.1", "values that begin or end with a blank are malformed" do
  [" a", "a ", "\ta", "a\t", " "].each do |value|
    stream_error value.inspect, PROTOCOL_ERROR, get(1, [["x-a", value]])
  end
  stream_error "in trailers", PROTOCOL_ERROR, post(1), data(1, "a"),
               last_headers(1, [["x-a", " 1"]]),
               seen: :any
  answered "blanks within, and nothing at all", get(1, [["x-a", "a \t b"], ["x-b", ""]]),
           seen: [{ "HTTP_X_A" => "a \t b", "HTTP_X_B" => "" }]
  answered "bytes above 127", get(1, [["x-a", "\xc3\xa4\xff".b]]), seen: [{}]
end

not_applicable "8.2.1", "an intermediary does not forward such fields", "binds intermediaries"

# --- 8.2.2 ---

everywhere "8.2.2", "no field of one connection is sent", :connection_fields

row "8.2.2", "fields of one connection are malformed" do
  [["connection", "close"], ["connection", "x-a"], ["keep-alive", "timeout=5"],
   ["proxy-connection", "keep-alive"], ["transfer-encoding", "chunked"],
   ["upgrade", "h2c"]].each do |field|
    stream_error field.join(" "), PROTOCOL_ERROR, get(1, [field])
  end
  stream_error "in trailers", PROTOCOL_ERROR, post(1), data(1, "a"),
               last_headers(1, [["connection", "close"]]), seen: :any
end

row "8.2.2", "TE says nothing but trailers" do
  stream_error "gzip", PROTOCOL_ERROR, get(1, [["te", "gzip"]])
  stream_error "trailers and another", PROTOCOL_ERROR, get(1, [["te", "trailers, deflate;q=0.5"]])
  answered "trailers", get(1, [["te", "trailers"]])
  answered "Trailers", get(1, [["te", "Trailers"]])
end

not_applicable "8.2.2", "an intermediary removes such fields", "binds intermediaries"

# --- 8.2.3 ---

row "8.2.3", "several cookies are joined before the application sees them" do
  answered "three fields", get(1, [["cookie", "a=1"], ["cookie", "b=2"], ["cookie", "c=3"]]),
           seen: [{ "HTTP_COOKIE" => "a=1; b=2; c=3" }]
  answered "with others between them", get(1, [["cookie", "a=1"], ["x-a", "1"], ["cookie", "b=2"]]),
           seen: [{ "HTTP_COOKIE" => "a=1; b=2", "HTTP_X_A" => "1" }]
end

# --- 8.3 ---

everywhere "8.3", "no pseudo-field but :status is sent, and no other in a response", :status

row "8.3", "pseudo-fields that are undefined, or of responses, are malformed" do
  [[":status", "200"], [":other", "1"], [":", "1"], [":PATH", "/"],
   [":protocol", "websocket"]].each do |field|
    stream_error field.first, PROTOCOL_ERROR,
                 get(1, [], **{ field.first.delete_prefix(":") => field.last })
  end
end

row "8.3", "pseudo-fields behind other fields are malformed" do
  stream_error "all of them", PROTOCOL_ERROR, last_headers(1, [["x-a", "1"], *request_fields])
  stream_error "one of them", PROTOCOL_ERROR,
               last_headers(1, [*request_fields[0, 3], ["x-a", "1"], [":path", "/"]])
  answered "in any order among themselves", last_headers(1, request_fields.reverse)
end

row "8.3", "a pseudo-field twice is malformed" do
  request_fields.each do |field|
    stream_error field.first, PROTOCOL_ERROR, last_headers(1, [*request_fields, field])
  end
end

# --- 8.3.1 ---

row "8.3.1", "a request has one :method, :scheme and :path" do
  %i[method scheme path].each do |name|
    stream_error "no :#{name}", PROTOCOL_ERROR, get(1, [], name => nil)
  end
  stream_error "none at all", PROTOCOL_ERROR, last_headers(1, [["x-a", "1"]])
  stream_error "no field at all", PROTOCOL_ERROR, last_headers(1, "")
end

# A valid value is one of its grammar. Where it is not, section 8.1.1 allows an answer with 400
# before the reset.
row "8.3.1", ":method, :scheme and :path are valid" do
  refused = { 1 => ->(response) {
    "status #{response.status}, code #{response.code}" unless
      [400,
       nil].include?(response.status) && [nil, PROTOCOL_ERROR, NO_ERROR].include?(response.code)
  } }
  { "an empty method" => { method: "" }, "a method with a blank" => { method: "G T" },
    "a path without a slash" => { path: "a" }, "a path with a blank" => { path: "/a b" },
    "a path with a fragment" => { path: "/a#b" }, "a whole URI" => { path: "http://test/" },
    "a scheme with a blank" => { scheme: "ht tp" }, "an empty scheme" => { scheme: "" },
    "a scheme of another protocol" => { scheme: "gopher" },
    "the asterisk of another method" => { path: "*" } }.each do |name, pseudo|
    answered name, get(1, [], **pseudo), on: refused, seen: []
  end
end

row "8.3.1", ":path is not empty" do
  stream_error "GET", PROTOCOL_ERROR, get(1, path: "")
  stream_error "OPTIONS", PROTOCOL_ERROR, get(1, method: "OPTIONS", path: "")
end

row "8.3.1", "OPTIONS has the path * where there is none" do
  answered "*", get(1, method: "OPTIONS", path: "*"), on: { 1 => [200, 204] }, seen: :any
end

row "8.3.1", "the target is that of :authority, whatever Host says" do
  answered ":authority and the same Host", get(1, [%w[host test]]),
           seen: [{ "HTTP_HOST" => "test" }]
  answered "Host alone", get(1, [%w[host other]], authority: nil),
           seen: [{ "HTTP_HOST" => "other" }]
  answered "in capitals", get(1, [%w[host TEST]]), seen: [{ "HTTP_HOST" => "test" }]
end

row "8.3.1", "a Host that differs from :authority is malformed" do
  refused = { 1 => ->(response) {
    "status #{response.status}, code #{response.code}" unless
      response.status == 400 || response.code == PROTOCOL_ERROR
  } }
  answered "another name", get(1, [%w[host other]]), on: refused, seen: []
  answered "another port", get(1, [["host", "test:81"]]), on: refused, seen: []
  answered "two of them", get(1, [%w[host test], %w[host test]]), on: refused, seen: []
  answered "neither", get(1, [], authority: nil), on: refused, seen: []
end

row "8.3.1", ":authority has no userinfo" do
  refused = { 1 => ->(response) {
    "status #{response.status}, code #{response.code}" unless
      response.status == 400 || response.code == PROTOCOL_ERROR
  } }
  answered "a name", get(1, authority: "me@test"), on: refused, seen: []
  answered "a name and a password", get(1, authority: "me:secret@test"), on: refused, seen: []
end

not_applicable "8.3.1", "what clients and intermediaries put into :authority, Host and :path",
               "binds clients and intermediaries"
everywhere "8.3.2", ":status is in every response, also in interim ones", :status do
  answered "100, then 200", post(1, [%w[expect 100-continue]]), await(HEADERS), last_data(1, "abc"),
           seen: [{ body: "abc" }] do |client|
    statuses = client.seen(1).interim.map { |fields| fields.to_h[":status"] }
    "interim responses #{statuses}" unless statuses == ["100"]
  end
end

# --- 8.4 ---

row "8.4", "PUSH_PROMISE of a client: PROTOCOL_ERROR" do
  connection_error "a promise", PROTOCOL_ERROR, post(1),
                   push_promise(1, 2, Hpack.block(request_fields)), seen: :any
end

not_applicable "8.4", "what is pushed, and what a client does with it", "the server pushes nothing"

# --- 8.5 ---

row "8.5", "CONNECT leaves :scheme and :path out" do
  stream_error "with :path", PROTOCOL_ERROR, get(1, method: "CONNECT", scheme: nil)
  stream_error "with :scheme", PROTOCOL_ERROR, get(1, method: "CONNECT", path: nil)
  stream_error "without :authority", PROTOCOL_ERROR,
               get(1, method: "CONNECT", scheme: nil, path: nil, authority: nil)
end

# RFC 9110 section 9.3.6: an origin server need not tunnel.
row "8.5", "CONNECT that is well formed is refused" do
  answered "405", get(1, method: "CONNECT", scheme: nil, path: nil, authority: "test:80"),
           on: { 1 => 405 }, seen: []
end

not_applicable "8.5", "frames of a stream that is connected; the proxy's TCP connection",
               "the server connects nothing"

# --- 8.6, 8.7 ---

row "8.6", "Upgrade has no place in HTTP/2" do
  stream_error "h2c", PROTOCOL_ERROR, get(1, [["upgrade", "h2c"], ["http2-settings", ""]])
  stream_error "websocket", PROTOCOL_ERROR, get(1, [["upgrade", "websocket"]])
end

row "8.7", "REFUSED_STREAM says that no application has seen the request" do
  stream_error "over the limit of streams", [REFUSED_STREAM, PROTOCOL_ERROR],
               (0..99).map { |i| post(1 + (2 * i)) }.join, get(201),
               await(RST_STREAM, stream: 201), rst_stream(1), on: 201, seen: []
end

elsewhere "8.7", "a GOAWAY names the last stream that an application may have seen",
          "test/c/protocols/test_http2_errors.c", "assert_int_equal(held, h2.goaway_last[1])"

row "8.7", "PING tells that the connection is alive" do
  ignored "while a request waits", get(1), ping, settle, OPEN_IT[1], response(1), settings: SHUT,
          seen: [{}]
end
