# frozen_string_literal: true

# RFC 7541: field blocks.

document "RFC 7541"

# A request of indexed fields: :method GET, :scheme http, :path /, and :authority.
PLAIN = ([2, 6, 4].map { |index| Hpack.indexed(index) }.join + Hpack.literal(1, "test")).freeze

row "2.1", "fields reach the application in the order of their block" do
  answered "cookies", last_headers(1, PLAIN + %w[a=1 b=2 c=3].map { |value|
    Hpack.literal("cookie", value)
  }.join),
           seen: [{ "HTTP_COOKIE" => "a=1; b=2; c=3" }]
  answered "one name twice",
           last_headers(1, PLAIN + Hpack.literal("x-a", "2") + Hpack.indexing("x-a", "1")),
           seen: [{ "HTTP_X_A" => "2, 1" }]
end

not_applicable "2.1", "an encoder keeps the order of the list",
               "an application's fields are a Hash: their order means nothing"

row "2.3.2", "an entry that is in the table twice is no error" do
  answered "the same field indexed twice, then both", last_headers(1, PLAIN +
           (Hpack.indexing("x-a", "1") * 2) + Hpack.indexed(62) + Hpack.indexed(63)),
           seen: [{ "HTTP_X_A" => "1, 1, 1, 1" }]
end

row "2.3.3", "an index beyond both tables is a decoding error" do
  connection_error "of a field, with an empty table", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + Hpack.indexed(62))
  connection_error "of a name", COMPRESSION_ERROR, last_headers(1, PLAIN + Hpack.literal(62, "1"))
  connection_error "of a name, to be indexed", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + Hpack.indexing(70, "1"))
  connection_error "one beyond what was indexed", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + Hpack.indexing("x-a", "1") + Hpack.indexed(63))
  answered "the last there is",
           last_headers(1, PLAIN + Hpack.indexing("x-a", "1") + Hpack.indexed(62)),
           seen: [{ "HTTP_X_A" => "1, 1" }]
end

row "3.2", "the table is one for all blocks of a connection, and evicts its oldest entries" do
  answered "a field of an earlier request", last_headers(1, PLAIN + Hpack.indexing("x-a", "1")),
           last_headers(3, PLAIN + Hpack.indexed(62)), on: { 1 => 200, 3 => 200 },
           seen: [{ "HTTP_X_A" => "1" }, { "HTTP_X_A" => "1" }]
  many = PLAIN + (1..200).map { |i| Hpack.indexing("cookie", "n=#{i}") }.join
  answered "the newest of many", last_headers(1, many), last_headers(3, PLAIN + Hpack.indexed(62)),
           on: { 1 => 200, 3 => 200 }, seen: :any
  connection_error "one that was evicted", COMPRESSION_ERROR,
                   last_headers(1, many + Hpack.indexed(62 + 199))
  connection_error "everything, by an entry larger than the table", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + Hpack.indexing("x-a", "1") +
                     Hpack.indexing("x-b", "b" * 5000) +
                                   Hpack.indexed(62))
end

row "4.2", "a size of the table comes at the beginning of a block" do
  answered "smaller", last_headers(1, Hpack.size_update(100) + PLAIN)
  answered "twice", last_headers(1, Hpack.size_update(0) + Hpack.size_update(4096) + PLAIN +
                                    Hpack.indexing("x-a", "1") + Hpack.indexed(62)),
           seen: [{ "HTTP_X_A" => "1, 1" }]
  connection_error "behind a field", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + Hpack.size_update(100))
  connection_error "between fields", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + Hpack.size_update(0) + Hpack.literal("x-a", "1"))
  connection_error "0 empties it", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + Hpack.indexing("x-a", "1")), response(1),
                   last_headers(3, Hpack.size_update(0) + Hpack.size_update(4096) + PLAIN +
                                   Hpack.indexed(62)), seen: [{}]
  answered "0 keeps nothing",
           last_headers(1, Hpack.size_update(0) + PLAIN + Hpack.indexing("x-a", "1")),
           get(3), on: { 1 => 200, 3 => 200 }, seen: [{}, {}]
end

everywhere "4.2", "the server's size of the table is at most what its client allows", :table_size

not_applicable "4.2", "the smallest of several sizes is signalled, by a client",
               "the server's own limit never changes"

row "5.1", "an integer beyond the limits is a decoding error" do
  connection_error "an index of 40 bits", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + "\xff\xff\xff\xff\xff\x7f".b)
  connection_error "an index that goes on with zeros", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + "\xff".b + ("\x80".b * 20) + "\0".b)
  connection_error "a length of 40 bits", COMPRESSION_ERROR,
                   last_headers(1, "#{PLAIN}\0\1a".b + "\x7f\xff\xff\xff\xff\x7f".b)
  connection_error "a size of the table of 40 bits", COMPRESSION_ERROR,
                   last_headers(1, "\x3f\xff\xff\xff\xff\x7f".b + PLAIN)
  answered "more bytes than needed, within the limits",
           last_headers(1, "#{PLAIN}\0\1a".b + "\x7f\x81\x80\x00".b + ("b" * 128)),
           seen: [{ "HTTP_A" => "b" * 128 }]
end

# "a" is 00011, "b" 100011; EOS is thirty ones.
row "5.2", "Huffman coding: padding of up to 7 bits, all ones, is right" do
  answered "a", last_headers(1, PLAIN + "\0\1a".b + Hpack.huffman("\x1f")),
           seen: [{ "HTTP_A" => "a" }]
  answered "in a name", last_headers(1, PLAIN + "\0".b + Hpack.huffman("\x1f") + Hpack.string("1")),
           seen: [{ "HTTP_A" => "1" }]
  answered "nothing", last_headers(1, PLAIN + "\0\1a".b + Hpack.huffman("")),
           seen: [{ "HTTP_A" => "" }]
end

row "5.2", "padding longer than 7 bits is a decoding error" do
  connection_error "eight", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + "\0\1a".b + Hpack.huffman("\x1f\xff"))
  connection_error "nothing but padding", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + "\0\1a".b + Hpack.huffman("\xff"))
end

row "5.2", "padding that is not the beginning of EOS is a decoding error" do
  connection_error "zeros", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + "\0\1a".b + Hpack.huffman("\x18"))
  connection_error "a zero at the end", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + "\0\1a".b + Hpack.huffman("\x1e"))
end

row "5.2", "EOS in a string is a decoding error" do
  connection_error "alone", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + "\0\1a".b + Hpack.huffman("\xff\xff\xff\xff"))
  connection_error "behind a character", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + "\0\1a".b + Hpack.huffman("\x1f\xff\xff\xff\xff"))
end

row "6.1", "an indexed field of index 0 is a decoding error" do
  connection_error "0", COMPRESSION_ERROR, last_headers(1, PLAIN + "\x80".b)
end

row "6.2", "all literal representations are read" do
  [%i[literal x-a], %i[indexing x-b], %i[never_indexed x-c]].each do |kind, name|
    answered "#{kind} with a new name",
             last_headers(1, PLAIN + Hpack.public_send(kind, name.to_s, "1")),
             seen: [{ "HTTP_#{name.to_s.upcase.tr("-", "_")}" => "1" }]
    answered "#{kind} with an indexed name",
             last_headers(1, PLAIN + Hpack.public_send(kind, 58, "me")),
             seen: [{ "HTTP_USER_AGENT" => "me" }]
  end
  connection_error "without indexing and never indexed leave the table alone", COMPRESSION_ERROR,
                   last_headers(1, PLAIN + Hpack.literal("x-a", "1") +
                     Hpack.never_indexed("x-a", "1") +
                                   Hpack.indexed(62))
end

not_applicable "6.2.3", "never indexed literals keep their representation when they are forwarded",
               "the server forwards no fields"
not_applicable "7.1.3", "an intermediary does not index what was never indexed",
               "the server forwards no fields"

row "6.3", "a size of the table above the limit is a decoding error" do
  connection_error "one byte more", COMPRESSION_ERROR,
                   last_headers(1, Hpack.size_update(4097) + PLAIN)
  connection_error "the most there is", COMPRESSION_ERROR,
                   last_headers(1, Hpack.size_update(0xffffffff) + PLAIN)
  answered "the limit", last_headers(1, Hpack.size_update(4096) + PLAIN)
end
