# frozen_string_literal: true

# Vectors 1-16: where a message ends, as Content-Length and Transfer-Encoding say it.

smuggled = request("GET /smuggled HTTP/1.1")

row 1, "Content-Length and Transfer-Encoding together", "RFC 9112 6.1, 6.3" do
  refuse "length first", post("Content-Length: 5", "Transfer-Encoding: chunked", body: "0\r\n\r\n")
  refuse "coding first", post("Transfer-Encoding: chunked", "Content-Length: 5", body: "0\r\n\r\n")
  refuse "length is right",
         post("Content-Length: 3", "Transfer-Encoding: chunked", body: "3\r\nabc\r\n0\r\n\r\n")
end

row 2, "both, and what follows looks like a request", "RFC 9112 6.1, 11.2" do
  refuse "CL.TE", post("Content-Length: #{5 + smuggled.bytesize}", "Transfer-Encoding: chunked",
                       body: "0\r\n\r\n#{smuggled}")
  refuse "TE.CL", post("Transfer-Encoding: chunked", "Content-Length: 4",
                       body: "1\r\nZ\r\n0\r\n\r\n#{smuggled}")
end

row 3, "Content-Length twice, different", "RFC 9112 6.3" do
  refuse "shorter first", post("Content-Length: 3", "Content-Length: 5", body: "abcde")
  refuse "longer first", post("Content-Length: 5", "Content-Length: 3", body: "abcde")
  refuse "as a list", post("Content-Length: 5, 3", body: "abcde")
end

row 4, "Content-Length twice, the same", "RFC 9112 6.3" do
  refuse "two lines", post("Content-Length: 5", "Content-Length: 5", body: "abcde")
  refuse "as a list", post("Content-Length: 5, 5", body: "abcde")
end

row 5, "Content-Length that is not 1*DIGIT", "RFC 9110 8.6" do
  ["+5", "-1", "-0", "5_0", "0x5", "0o5", "1 0", "5;", "", "5.0", "5,", "five", "\xb5".b,
   "5\t5"].each do |value|
    refuse value.inspect, post("Content-Length: #{value}".b, body: "abcde")
  end
end

row 6, "Content-Length past every integer", "RFC 9112 6.3" do
  refuse "2^63", post("Content-Length: 9223372036854775808"), 413
  refuse "2^64", post("Content-Length: 18446744073709551616"), 413
  refuse "2^64 + 5", post("Content-Length: 18446744073709551621", body: "abcde"), 413
  refuse "30 digits", post("Content-Length: #{"9" * 30}"), 413
  refuse "30 digits and one that is none", post("Content-Length: #{"9" * 30}x")
end

row 7, "Content-Length with leading zeros is decimal", "RFC 9110 8.6" do
  accept "005", post("Content-Length: 005", body: "abcde"), method: "POST", body: "abcde"
  accept "010 is ten", post("Content-Length: 010", body: "0123456789"),
         method: "POST", body: "0123456789"
end

row 8, "Transfer-Encoding whose last coding is not chunked", "RFC 9112 6.1, 6.3" do
  refuse "xchunked", post("Transfer-Encoding: xchunked", body: "0\r\n\r\n"), 501
  refuse "gzip", post("Transfer-Encoding: gzip", body: "0\r\n\r\n"), 501
  refuse "gzip, chunked", post("Transfer-Encoding: gzip, chunked", body: "0\r\n\r\n"), 501
  refuse "chunkedx", post("Transfer-Encoding: chunkedx", body: "0\r\n\r\n"), 501
end

row 9, "chunked is not the last coding", "RFC 9112 6.3" do
  refuse "chunked, gzip", post("Transfer-Encoding: chunked, gzip", body: "0\r\n\r\n"), 400
  refuse "chunked, then identity on its own line",
         post("Transfer-Encoding: chunked", "Transfer-Encoding: identity", body: "0\r\n\r\n")
end

row 10, "chunked applied twice", "RFC 9112 6.1, 7" do
  refuse "one line", post("Transfer-Encoding: chunked, chunked", body: "0\r\n\r\n")
  refuse "two lines",
         post("Transfer-Encoding: chunked", "Transfer-Encoding: chunked", body: "0\r\n\r\n")
  refuse "two lines, one of them empty",
         post("Transfer-Encoding:", "Transfer-Encoding: chunked", body: "0\r\n\r\n")
end

row 11, "empty elements in Transfer-Encoding", "RFC 9110 5.6.1; docs/decisions/0002" do
  refuse ",chunked", post("Transfer-Encoding: ,chunked", body: "0\r\n\r\n")
  refuse "chunked,", post("Transfer-Encoding: chunked,", body: "0\r\n\r\n")
  refuse "empty", post("Transfer-Encoding:", body: "0\r\n\r\n")
end

row 12, "Transfer-Encoding: identity", "RFC 9112 7 (the coding was removed)" do
  refuse "with a length", post("Transfer-Encoding: identity", "Content-Length: 5", body: "abcde")
  refuse "alone", post("Transfer-Encoding: identity"), 501
end

row 13, "Transfer-Encoding with bytes no token has", "RFC 9110 5.6.2" do
  { "VT before" => "\vchunked", "FF after" => "chunked\f", "NUL after" => "chunked\0",
    "NBSP before" => "\xa0chunked", "NEL after" => "chunked\x85",
    "quotes" => "\"chunked\"", "apostrophes" => "'chunked'",
    "parameter" => "chunked;a=b" }.each do |name, value|
    # An apostrophe may stand in a token (RFC 9110 section 5.6.2), so such a coding is only unknown.
    refuse name, post("Transfer-Encoding: ".b + value.b, body: "0\r\n\r\n"),
           name == "apostrophes" ? 501 : 400
  end
  accept "any case is chunked", post("Transfer-Encoding: cHuNkEd", body: "3\r\nabc\r\n0\r\n\r\n"),
         method: "POST", body: "abc"
  accept "white space around is cut",
         post("Transfer-Encoding: \t chunked \t", body: "3\r\nabc\r\n0\r\n\r\n"),
         method: "POST", body: "abc"
end

row 14, "white space before the colon", "RFC 9112 5.1" do
  refuse "Transfer-Encoding SP", post("Transfer-Encoding : chunked", body: "0\r\n\r\n")
  refuse "Transfer-Encoding HTAB", post("Transfer-Encoding\t: chunked", body: "0\r\n\r\n")
  refuse "Content-Length SP", post("Content-Length : 5", body: "abcde")
  refuse "any field", get("X-Any : value")
end

row 15, "Transfer-Encoding folded over two lines", "RFC 9112 5.2" do
  refuse "SP", post("Transfer-Encoding:\r\n chunked", body: "0\r\n\r\n")
  refuse "HTAB", post("Transfer-Encoding:\r\n\tchunked", body: "0\r\n\r\n")
  refuse "inside the name", post("Transfer-\r\n Encoding: chunked", body: "0\r\n\r\n")
end

row 16, "Transfer-Encoding in HTTP/1.0", "RFC 9112 6.1" do
  refuse "close", request("POST / HTTP/1.0", "Transfer-Encoding: chunked", body: "0\r\n\r\n"),
         version: "1.0"
  refuse "keep-alive",
         request("POST / HTTP/1.0", "Connection: keep-alive", "Transfer-Encoding: chunked",
                 body: "0\r\n\r\n#{smuggled}"),
         version: "1.0"
end
