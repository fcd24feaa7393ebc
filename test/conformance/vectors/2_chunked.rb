# frozen_string_literal: true

# Vectors 17-25: the chunked coding (RFC 9112 section 7.1).

smuggled = request("GET /smuggled HTTP/1.1")

row 17, "chunk-size that is not 1*HEXDIG", "RFC 9112 7.1" do
  ["0x5", "+5", "-1", "5_0", " 5", "5 ", "", "5\t", "g", "5h"].each do |size|
    refuse size.inspect, chunked("#{size}\r\nabcde\r\n0\r\n\r\n")
  end
  accept "hex digits of both cases", chunked("a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n"),
         method: "POST", body: "01234567890123456789a"
end

row 18, "chunk-size that overflows", "RFC 9112 7.1" do
  refuse "17 digits", chunked("10000000000000005\r\nabcde\r\n0\r\n\r\n")
  refuse "16 digits", chunked("ffffffffffffffff\r\nabcde\r\n0\r\n\r\n"), 413
  refuse "17 digits, zeros first", chunked("00000000000000005\r\nabcde\r\n0\r\n\r\n")
end

row 19, "chunk data not followed by CRLF", "RFC 9112 7.1" do
  refuse "two other bytes", chunked("5\r\nabcdeXX0\r\n\r\n")
  refuse "LF", chunked("5\r\nabcde\n0\r\n\r\n")
  refuse "nothing", chunked("5\r\nabcde0\r\n\r\n")
  refuse "last chunk followed by a line that is no field", chunked("5\r\nabcde\r\n0\r\nXX\r\n\r\n")
end

row 20, "more data than the chunk-size says", "RFC 9112 7.1" do
  refuse "7 for 5", chunked("5\r\nabcdefg\r\n0\r\n\r\n")
  refuse "a request behind", chunked("5\r\nabcdefg\r\n0\r\n\r\n#{smuggled}")
end

row 21, "chunk extensions outside the grammar", "RFC 9112 7.1.1" do
  { "bare LF" => "5;a\nb\r\n", "LF ends the line" => "5;a=b\n", "bare CR" => "5;a\rb\r\n",
    "CR ends it" => "5\rX\r\n", "NUL" => "5;a=\0\r\n", "semicolon alone" => "5;\r\n",
    "bad token" => "5;a@b\r\n", "no semicolon" => "5 a\r\n", "open quote" => "5;a=\"b\r\n",
    "empty value" => "5;a=\r\n" }.each do |name, line|
    refuse name, chunked("#{line}abcde\r\n0\r\n\r\n")
  end
  accept "token, value and quoted string",
         chunked("5;a;b=c;d=\"e;\\\" f\"\r\nabcde\r\n0;last\r\n\r\n"), method: "POST", body: "abcde"
end

row 22, "chunk extensions without end", "RFC 9112 7.1.1" do
  refuse "64 KB in one", chunked("5;#{"a" * 65_536}\r\nabcde\r\n0\r\n\r\n")
  refuse "64 KB in many", chunked("#{"5;#{"a" * 100}\r\nabcde\r\n" * 650}0\r\n\r\n")
end

row 23, "LF where CRLF is due", "RFC 9112 7.1" do
  refuse "after the size", chunked("5\nabcde\r\n0\r\n\r\n")
  refuse "after the last size", chunked("5\r\nabcde\r\n0\n\r\n")
  refuse "at the end", chunked("5\r\nabcde\r\n0\r\n\n")
  refuse "after a trailer", chunked("5\r\nabcde\r\n0\r\nX-Trailer: 1\n\r\n")
end

row 24, "trailers are checked and dropped", "RFC 9110 6.5.1; RFC 9112 7.1.2" do
  { "Content-Length" => "7", "Transfer-Encoding" => "gzip", "Host" => "evil",
    "Authorization" => "Basic eA==", "Content-Type" => "text/evil" }.each do |name, value|
    accept name, chunked("5\r\nabcde\r\n0\r\n#{name}: #{value}\r\n\r\n"),
           method: "POST", body: "abcde",
           env: { "HTTP_HOST" => "test", "CONTENT_LENGTH" => [nil, "5"],
                  "HTTP_TRANSFER_ENCODING" => [nil, "chunked"] },
           absent: %w[HTTP_CONTENT_LENGTH HTTP_AUTHORIZATION CONTENT_TYPE HTTP_CONTENT_TYPE]
  end
  refuse "a trailer that is no field", chunked("5\r\nabcde\r\n0\r\nno colon\r\n\r\n")
  refuse "a folded trailer", chunked("5\r\nabcde\r\n0\r\nA: b\r\n c\r\n\r\n")
end

row 25, "framing without end", "RFC 9112 7.1" do
  refuse "64 KB of trailers",
         chunked("5\r\nabcde\r\n0\r\n#{"X-Trailer: #{"a" * 100}\r\n" * 600}\r\n")
  refuse "10,000 chunks that are mostly framing",
         chunked("#{"0000000000000001\r\nx\r\n" * 10_000}0\r\n\r\n")
  accept "one-byte chunks are not", chunked("#{"1\r\nx\r\n" * 5000}0\r\n\r\n"),
         method: "POST", body: "x" * 5000
end
