# frozen_string_literal: true

# Vectors 42-52: several requests of one connection, expectations, upgrades, and faulty responses of
# an application.

smuggled = request("GET /smuggled HTTP/1.1")
injected = ->(response) {
  if response["injected"] || response.body.include?("Injected")
    "an injected field came through: #{response.fields}"
  end
}

row 42, "a body on a method that seldom has one, then a second request",
    "RFC 9110 9.3.1; RFC 9112 6" do
  %w[GET DELETE OPTIONS].each do |method|
    expect method,
           [request("#{method} / HTTP/1.1", "Content-Length: 5", body: "abcde") +
            get(path: "/second")],
           fate: :open,
           answers: [answer(200, method: method), answer(200)],
           seen: [seen(method: method, body: "abcde"), seen(path: "/second")]
  end
  expect "HEAD",
         [request("HEAD / HTTP/1.1", "Content-Length: 5", body: "abcde") + get(path: "/second")],
         fate: :open,
         answers: [answer(200, method: "HEAD"), answer(200)],
         seen: [seen(method: "HEAD", body: "abcde"), seen(path: "/second")]
end

row 43, "Content-Length: 0, then a second request", "RFC 9112 6.3, 9.3.2" do
  expect "POST", [post("Content-Length: 0") + get(path: "/second")], fate: :open,
    answers: [answer(200, method: "POST"), answer(200)],
    seen: [seen(method: "POST"), seen(path: "/second")]
  expect "POST without any length", [post + get(path: "/second")], fate: :open,
    answers: [answer(200, method: "POST"), answer(200)],
    seen: [seen(method: "POST"), seen(path: "/second")]
end

row 44, "refused before its body was read: the body is never read as a request", "RFC 9112 9.6" do
  refuse "length over the limit", post("Content-Length: 200000000", body: smuggled), 413
  refuse "a bad field before a body",
         post("Content-Length: #{smuggled.bytesize}", "X Any: 1", body: smuggled)
  refuse "an unknown expectation",
         post("Content-Length: #{smuggled.bytesize}", "Expect: else", body: smuggled), 417
end

row 45, "Expect", "RFC 9110 10.1.1" do
  accept "100-continue, the client waits",
         [post("Content-Length: 5", "Expect: 100-continue"), :await_continue, "abcde"],
         method: "POST", body: "abcde"
  accept "100-Continue, chunked, the client waits",
         [chunked("", "Expect: 100-Continue"), :await_continue, "5\r\nabcde\r\n0\r\n\r\n"],
         method: "POST", body: "abcde"
  expect "100-continue, the body is there already",
         [post("Content-Length: 5", "Expect: 100-continue", body: "abcde")], fate: :open,
         answers: [answer(200, method: "POST")], seen: [seen(method: "POST", body: "abcde")]
  expect "100-continue without a body", [get("Expect: 100-continue")], fate: :open, seen: [seen],
    answers: [
      answer(200) { |response| "100 for a request without a body" if response.interim.any? }
    ]
  refuse "100-continue, too large", post("Content-Length: 200000000", "Expect: 100-continue"), 413
  refuse "unknown", post("Content-Length: 5", "Expect: 200-maybe", body: "abcde"), 417
  refuse "obfuscated", post("Content-Length: 5", "Expect: 100-continuex", body: "abcde"), 417
  refuse "space before the colon", post("Content-Length: 5", "Expect : 100-continue", body: "abcde")
  accept "ignored in HTTP/1.0",
         request("POST / HTTP/1.0", "Content-Length: 5", "Expect: 100-continue", body: "abcde"),
         method: "POST", body: "abcde", version: "1.0", fate: :closed
end

row 46, "Upgrade is ignored", "RFC 9110 7.8" do
  websocket = ["Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
               "Sec-WebSocket-Version: 13"]
  accept "h2c", get("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c",
                    "HTTP2-Settings: AAMAAABkAAQAAP__")
  accept "websocket", get("Connection: Upgrade", *websocket)
  accept "websocket by POST",
         post("Content-Length: 5", "Connection: Upgrade", *websocket, body: "abcde"),
         method: "POST", body: "abcde"
  accept "without Connection", get(*websocket)
  accept "in HTTP/1.0", request("GET / HTTP/1.0", "Connection: Upgrade", *websocket),
         version: "1.0", fate: :closed
end

row 47, "Connection names a field that framing needs", "RFC 9110 7.6.1" do
  accept "content-length", post("Connection: content-length", "Content-Length: 5", body: "abcde"),
         method: "POST", body: "abcde"
  accept "transfer-encoding", chunked("5\r\nabcde\r\n0\r\n\r\n", "Connection: transfer-encoding"),
         method: "POST", body: "abcde"
  accept "host", get("Connection: host"), env: { "HTTP_HOST" => "test" }
end

row 48, "one request after another on one connection", "RFC 9112 9.3.2, 9.6" do
  refuse_after "valid, then invalid", get(path: "/a"), "BAD\r\n\r\n", seen: seen(path: "/a")
  refuse_after "valid with a body, then invalid",
               post("Content-Length: 5", body: "abcde"), "GET / HTTP/1.1\r\n\r\n",
               seen: seen(method: "POST", body: "abcde")
  expect "nothing is read after Connection: close",
         [get("Connection: close", path: "/a") + smuggled], fate: :closed, answers: [answer(200)],
         seen: [seen(path: "/a")]
  expect "nothing is read after HTTP/1.0", [request("GET /a HTTP/1.0") + smuggled],
         fate: :closed, answers: [answer(200, version: "1.0")], seen: [seen(path: "/a")]
  expect "HTTP/1.0 keep-alive goes on",
         [request("GET /a HTTP/1.0", "Connection: keep-alive") + get(path: "/b")], fate: :open,
         answers: [answer(200, version: "1.0") { |response|
           "no Connection: keep-alive" unless response["connection"]&.downcase == "keep-alive"
         }, answer(200)],
         seen: [seen(path: "/a"), seen(path: "/b")]
  refuse_after "three empty lines between them", get(path: "/a"), "\r\n\r\n\r\n#{get}",
               seen: seen(path: "/a")
  expect "one empty line between them is skipped",
         ["#{post("Content-Length: 5", body: "abcde")}\r\n#{get(path: "/b")}"], fate: :open,
         answers: [answer(200, method: "POST"), answer(200)],
         seen: [seen(method: "POST", body: "abcde"), seen(path: "/b")]
end

row 49, "a response head with CR, LF or NUL from the application is never sent",
    "RFC 9110 5.5; RFC 9112 4, 5" do
  %w[value-crlf value-cr value-nul value-lf value-array-crlf name-crlf name-space name-empty
     content-type-crlf status-text].each do |bad|
    expect bad, [get(path: "/bad/#{bad}")],
           fate: :as_announced, answers: [answer(500, &injected)], seen: [seen(path: "/bad/#{bad}")]
  end
end

row 50, "responses whose framing the application got wrong",
    "RFC 9110 6.4.1, 8.6, 15.2; RFC 9112 6.3" do
  # Exactly the announced number of bytes is sent. Otherwise the server corrects the announcement,
  # or ends the connection before the announced end.
  short = answer(200, 500, may_be_cut: true) do |response|
    if response.status == 200 && !response.body.start_with?("12345")
      "12345 became #{response.body.inspect}"
    end
  end
  expect "array shorter than its length", [get(path: "/bad/length-beyond-array")],
         fate: :as_announced, answers: [short], seen: [seen(path: "/bad/length-beyond-array")]
  expect "each shorter than its length", [get(path: "/bad/length-beyond-each")],
         fate: :as_announced, answers: [short], seen: [seen(path: "/bad/length-beyond-each")]
  long = answer(200, 500) do |response|
    if response.status == 200 && !%w[123 1234567890].include?(response.body)
      "became #{response.body.inspect}"
    end
  end
  expect "array longer than its length", [get(path: "/bad/length-below-array")],
         fate: :as_announced, answers: [long], seen: [seen(path: "/bad/length-below-array")]
  expect "each longer than its length", [get(path: "/bad/length-below-each")],
         fate: :as_announced, answers: [long], seen: [seen(path: "/bad/length-below-each")]
  %w[length-and-coding length-text].each do |bad|
    expect bad, [get(path: "/bad/#{bad}")], fate: :as_announced, seen: [seen(path: "/bad/#{bad}")],
      answers: [answer(200, 500) { |response|
        "became #{response.body.inspect}" if response.status == 200 && response.body != "12345"
      }]
  end
  expect "204 with a body", [get(path: "/bad/body-on-204")],
         fate: :as_announced, answers: [answer(204)], seen: [seen(path: "/bad/body-on-204")]
  expect "204 with a length", [get(path: "/bad/length-on-204")],
         fate: :as_announced, answers: [answer(204)], seen: [seen(path: "/bad/length-on-204")]
  expect "304 with a body", [get(path: "/bad/body-on-304")],
         fate: :as_announced, answers: [answer(304)], seen: [seen(path: "/bad/body-on-304")]
  %w[body-on-head each-on-head].each do |bad|
    expect bad, [request("HEAD /bad/#{bad} HTTP/1.1") + get(path: "/second")],
           fate: :open, answers: [answer(200, method: "HEAD"), answer(200)],
           seen: [seen(method: "HEAD", path: "/bad/#{bad}"), seen(path: "/second")]
  end
  %w[status-100 status-103 status-99 status-1000].each do |bad|
    expect bad, [get(path: "/bad/#{bad}")],
           fate: :as_announced, answers: [answer(500)], seen: [seen(path: "/bad/#{bad}")]
  end
end

row 51, "underscores in field names are dropped",
    "RFC 9110 5.1 (distinct names); docs/decisions/0002" do
  accept "beside its twin",
         get("X-Forwarded-For: 10.0.0.1", "X_Forwarded_For: evil", "X-Forwarded_For: evil"),
         env: { "HTTP_X_FORWARDED_FOR" => "10.0.0.1" }
  accept "alone", get("X_Forwarded_For: evil"), absent: %w[HTTP_X_FORWARDED_FOR]
  accept "Content_Length", get("Content_Length: 5"), absent: %w[CONTENT_LENGTH HTTP_CONTENT_LENGTH]
  accept "Transfer_Encoding", get("Transfer_Encoding: chunked"), absent: %w[HTTP_TRANSFER_ENCODING]
end

not_applicable 52, "PROXY protocol: an unterminated line, a repeated one", "PROXY protocol 2.1",
               "the PROXY protocol is not offered: no option turns it on, and its line is " \
               "refused as any other request line outside the grammar"
