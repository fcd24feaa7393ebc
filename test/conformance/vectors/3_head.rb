# frozen_string_literal: true

# Vectors 26-41: the head of a request, byte by byte.

row 26, "bare LF ends a line", "RFC 9112 2.2; docs/decisions/0002" do
  refuse "request line", "GET / HTTP/1.1\nHost: test\r\n\r\n"
  refuse "field line", "GET / HTTP/1.1\r\nHost: test\n\r\n"
  refuse "end of the head", "GET / HTTP/1.1\r\nHost: test\r\n\n"
  refuse "all of them", "GET / HTTP/1.1\nHost: test\n\n"
end

row 27, "bare CR", "RFC 9112 2.2" do
  refuse "in a value", get("X-Any: a\rb")
  refuse "at the end of a value", "GET / HTTP/1.1\r\nHost: test\r\nX-Any: a\r\r\n\r\n"
  refuse "CRLF CR X", "GET / HTTP/1.1\r\nHost: test\r\n\rX"
  refuse "in the request line", "GET /\r HTTP/1.1\r\nHost: test\r\n\r\n"
end

row 28, "line folding", "RFC 9112 5.2" do
  refuse "SP", get("X-Any: a\r\n b")
  refuse "HTAB", get("X-Any: a\r\n\tb")
  refuse "Host", "GET / HTTP/1.1\r\nHost:\r\n test\r\n\r\n"
end

row 29, "control bytes in a value", "RFC 9110 5.5" do
  { "NUL" => "\0", "0x01" => "\x01", "ESC" => "\e", "DEL" => "\x7f",
    "VT" => "\v" }.each do |name, byte|
    refuse name, get("X-Any: a#{byte}b")
  end
  refuse "NUL at the end", get("X-Any: a\0")
  accept "tab and obs-text are no control bytes", get("X-Any: a\tb\xe9".b),
         env: { "HTTP_X_ANY" => "a\tbé" }
end

row 30, "field names", "RFC 9110 5.1, 5.6.2; RFC 9112 5.1" do
  refuse "empty name", get(": value")
  refuse "no colon", get("X-Any")
  refuse "brackets", get("X[]: value")
  refuse "not ASCII", get("X-\xc3\xa9: value".b)
  refuse "tab", get("X\tAny: value")
  refuse "space", get("X Any: value")
  accept "every token character", get("!#$%&'*+-.^`|~09azAZ: value"), env: {}
end

row 31, "white space before the first field", "RFC 9112 2.2" do
  refuse "SP", "GET / HTTP/1.1\r\n Host: test\r\n\r\n"
  refuse "HTAB", "GET / HTTP/1.1\r\n\tX-Any: 1\r\nHost: test\r\n\r\n"
end

row 32, "Host", "RFC 9112 3.2; RFC 9110 7.2" do
  refuse "none", get(host: nil)
  refuse "two", get("Host: test")
  refuse "two, different", get("Host: other")
  { "userinfo" => "a@test", "slash" => "test/a", "comma" => "test,other", "space" => "te st",
    "port not a number" => "test:8x", "port too large" => "test:65536",
    "port of six digits" => "test:000080", "port alone" => ":80", "colon alone" => ":",
    "IPv6 zone" => "[fe80::1%25eth0]", "high byte" => "t\xC3\xA9st",
    "open bracket" => "[::1", "query" => "test?", "hash" => "test#", "backslash" => "test\\a",
    "two ports" => "test:80:80" }.each do |name, host|
    refuse name, get(host: host)
  end
  accept "empty", get(host: ""), env: { "HTTP_HOST" => "" }
  refuse "empty, with an absolute target", get(host: "", path: "http://test/")
  refuse "empty, and another", get("Host: test", host: "")
  accept "empty port", get(host: "test:"),
         env: { "HTTP_HOST" => "test:", "SERVER_NAME" => "test", "SERVER_PORT" => Conformance::DEFAULT_PORT }
  accept "empty port behind IPv6", get(host: "[::1]:"),
         env: { "HTTP_HOST" => "[::1]:", "SERVER_NAME" => "[::1]", "SERVER_PORT" => Conformance::DEFAULT_PORT }
  accept "zeros before the port", get(host: "test:00080"),
         env: { "HTTP_HOST" => "test:00080", "SERVER_PORT" => "80" }
  accept "empty in HTTP/1.0", request("GET / HTTP/1.0", host: ""),
         version: "1.0", fate: :closed, env: { "HTTP_HOST" => "" }
  refuse "two in HTTP/1.0", request("GET / HTTP/1.0", "Host: other"), version: "1.0"
  accept "underscore", get(host: "my_app:3000"),
         env: { "HTTP_HOST" => "my_app:3000", "SERVER_NAME" => "my_app" }
  accept "name and port", get(host: "test:8080"),
         env: { "HTTP_HOST" => "test:8080", "SERVER_NAME" => "test", "SERVER_PORT" => "8080" }
  accept "IPv6 and port", get(host: "[::1]:8080"),
         env: { "HTTP_HOST" => "[::1]:8080", "SERVER_NAME" => "[::1]", "SERVER_PORT" => "8080" }
  accept "none in HTTP/1.0", request("GET / HTTP/1.0", host: nil), version: "1.0", fate: :closed
end

row 33, "absolute form", "RFC 9112 3.2.2" do
  accept "same authority", get(path: "http://test/a?b=c"),
         path: "/a", query: "b=c", env: { "HTTP_HOST" => "test" }
  accept "no path", get(path: "http://test"), path: "/", env: { "HTTP_HOST" => "test" }
  accept "case does not count", get(path: "HTTP://TEST/a"), path: "/a"
  accept "the scheme's own port in the target", get(path: "http://test:80/a"),
         path: "/a", env: { "HTTP_HOST" => "test:80" }
  accept "the scheme's own port in Host", get(path: "http://test/a", host: "test:80"),
         path: "/a", env: { "HTTP_HOST" => "test", "SERVER_PORT" => Conformance::DEFAULT_PORT }
  refuse "another authority than Host", get(path: "http://other/a")
  refuse "another port than Host", get(path: "http://test:81/a")
  refuse "no authority", get(path: "http:///a")
end

row 34, "OPTIONS *, other forms", "RFC 9112 3.2.3, 3.2.4; RFC 9110 9.3.7" do
  accept "OPTIONS * is the application's", request("OPTIONS * HTTP/1.1"),
         method: "OPTIONS", path: "*"
  refuse "GET *", get(path: "*")
  refuse "CONNECT", request("CONNECT test:80 HTTP/1.1"), 405
  refuse "CONNECT with a path", request("CONNECT / HTTP/1.1")
  accept "OPTIONS of a path is the application's", request("OPTIONS /a HTTP/1.1"),
         method: "OPTIONS", path: "/a"
end

row 35, "request target outside the grammar", "RFC 9112 3.2; RFC 3986 3.3" do
  { "space" => "/a b", "tab" => "/a\tb", "NUL" => "/a\0b", "DEL" => "/a\x7f",
    "control byte behind a high byte" => "/\xC3\xA9\x01", "fragment alone" => "#a",
    "no slash" => "a", "quotation mark" => "/a?b=\"c\"", "angle bracket" => "/a?b=<c>",
    "quotation mark in a fragment" => "/#\"", "user information" => "http://a@test/",
    "another scheme" => "ftp://test/" }.each do |name, target|
    refuse name, get(path: target.b)
  end
  refuse "two spaces before it", "GET  / HTTP/1.1\r\nHost: test\r\n\r\n"
  refuse "two spaces after it", "GET /  HTTP/1.1\r\nHost: test\r\n\r\n"
  refuse "tab before it", "GET\t/ HTTP/1.1\r\nHost: test\r\n\r\n"
  refuse "space at the end", "GET / HTTP/1.1 \r\nHost: test\r\n\r\n"
  accept "what browsers leave raw in a query", get(path: "/a?b[]={c}|d^e`f"),
         path: "/a", query: "b[]={c}|d^e`f"
  accept "UTF-8", get(path: "/\xC3\xA9?\xE2\x82\xAC".b),
         path: "/\xC3\xA9".b, query: "\xE2\x82\xAC".b
  accept "other bytes over 0x7f", get(path: "/caf\xE9\xFF?a=\x80".b),
         path: "/caf\xE9\xFF".b, query: "a=\x80".b
  accept "backslash", get(path: "/a\\..\\b?c=\\d"), path: "/a\\..\\b", query: "c=\\d"
  accept "a fragment is cut off", get(path: "/a?b#c?d#e"),
         path: "/a", query: "b", env: { "REQUEST_URI" => "/a?b" }
  accept "a fragment behind the slash", get(path: "/#f"), path: "/", env: { "REQUEST_URI" => "/" }
  accept "percent-encoded stays so", get(path: "/a%20b%2f%00?c%20d"),
         path: "/a%20b%2f%00", query: "c%20d"
end

row 36, "HTTP-version outside the grammar", "RFC 9112 2.3" do
  ["HTTP/1.10", "HTTP/01.01", "HTTP/1", "http/1.1", "HTTP/ 1.1", "HTTP/1.1a", "HTTP/1,1", "HTTP/.1",
   "HTTP/1.", "XTTP/1.1"].each do |version|
    refuse version, request("GET / #{version}")
  end
end

row 37, "other versions", "RFC 9110 2.5, 15.6.6" do
  accept "HTTP/1.2 is treated as 1.1", request("GET / HTTP/1.2")
  refuse "HTTP/2.0", request("GET / HTTP/2.0"), 505
  refuse "HTTP/9.9", request("GET / HTTP/9.9"), 505
  refuse "HTTP/0.9 spelled out", request("GET / HTTP/0.9"), 505
end

row 38, "HTTP/0.9", "RFC 9112 2.3" do
  refuse "GET /", "GET /\r\n"
  refuse "GET / and an empty line", "GET /\r\n\r\n"
end

row 39, "what is almost the preface of HTTP/2", "RFC 9113 3.4; RFC 9110 15.6.6" do
  refuse "other bytes behind its line", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", 505
  refuse "an empty line before it", "\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505
  refuse "another version", "PRI * HTTP/3.0\r\n\r\nSM\r\n\r\n", 505
end

row 40, "methods", "RFC 9110 9.1; RFC 9112 3.1" do
  accept "case counts, an unknown token is the application's", request("get / HTTP/1.1"),
         method: "get"
  accept "a method nobody registered", request("FROBNICATE / HTTP/1.1"), method: "FROBNICATE"
  refuse "100 KB", request("#{"A" * 102_400} / HTTP/1.1"), 501
  refuse "quote", request("GE\"T / HTTP/1.1")
  refuse "NUL", request("GE\0T / HTTP/1.1")
  refuse "empty", request(" / HTTP/1.1")
  refuse "high byte", request("G\xc9T / HTTP/1.1".b)
end

row 41, "sizes", "RFC 9112 3; RFC 6585 5" do
  accept "a target of 8000 bytes", get(path: "/#{"a" * 7999}"), path: "/#{"a" * 7999}"
  refuse "a target of 100 KB", get(path: "/#{"a" * 102_400}"), 414
  refuse "a target of 100 KB that does not end", "GET /#{"a" * 102_400}", 414
  refuse "a value of 100 KB", get("X-Any: #{"a" * 102_400}"), 431
  refuse "a value of 100 KB that does not end",
         "GET / HTTP/1.1\r\nHost: test\r\nX-Any: #{"a" * 102_400}", 431
  refuse "10,000 fields", get(*Array.new(10_000) { |index| "X-#{index}: 1" }), 431
  refuse "101 fields", get(*Array.new(100) { |index| "X-#{index}: 1" }), 431
  accept "100 fields", get(*Array.new(99) { |index| "X-#{index}: 1" }), env: { "HTTP_X_98" => "1" }
end
