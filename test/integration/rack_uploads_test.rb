# frozen_string_literal: true

# Request bodies: complete before the application runs, in memory up to 64 KB, then in an unlinked
# file nobody else can read.

require "digest"

require_relative "../support/server_process_case"

class RackUploadsTest < ServerProcessCase
  # Below the size of the body, above what the application's own reading leaves for the collector.
  MEMORY_BYTES = 80 << 20
  PART = Random.new(3).bytes(1 << 20).freeze

  # Sends `bytes` bytes in parts and gives the answer with the checksum that is due.
  def upload(bytes, *fields)
    digest = Digest::SHA256.new
    connect do |client|
      lines = ["Content-Length: #{bytes}", *fields].map { |field| "#{field}\r\n" }.join
      client.write("POST /upload HTTP/1.1\r\nHost: test\r\n#{lines}\r\n")
      each_part(bytes) { |part| digest << part && client.write(part) }
      [parsed(client.response(method: "POST")), digest.hexdigest]
    end
  end

  def each_part(bytes)
    while bytes.positive?
      part = PART.byteslice(0, [bytes, PART.bytesize].min)
      yield part
      bytes -= part.bytesize
    end
  end

  [0, 1, 65_535, 65_536, 65_537, 1_000_000].each do |size|
    define_method("test_#{size}_bytes_arrive_as_they_were_sent") do
      seen, checksum = upload(size)
      assert_equal [size, checksum, size.to_s], seen.values_at("bytes", "sha256", "length")
    end
  end

  def test_a_large_chunked_body_arrives_as_it_was_sent
    digest = Digest::SHA256.new
    response = connect do |client|
      client.write("POST /upload HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
      each_part(5_000_000) do |part|
        digest << part
        client.write("#{part.bytesize.to_s(16)}\r\n".b + part + "\r\n")
      end
      client.write("0\r\n\r\n")
      client.response(method: "POST")
    end
    assert_equal [5_000_000, digest.hexdigest], parsed(response).values_at("bytes", "sha256")
  end

  def test_a_small_body_needs_no_file_and_a_large_one_an_unlinked_file_of_its_owner
    skip "how bodies are kept is the server's own choice" unless neverblock?
    assert_empty upload(65_536).first["spooled"]
    spooled = upload(65_537).first["spooled"]
    assert_equal 1, spooled.size
    assert_match(/600\z/, spooled.first)
    assert_empty upload(1).first["spooled"], "the file outlived its request"
  end

  def test_a_hundred_megabytes_arrive_in_bounded_memory
    upload(1_000_000)
    before = server.resident_bytes
    seen, checksum = upload(104_857_600)
    assert_equal [104_857_600, checksum], seen.values_at("bytes", "sha256")
    assert_operator server.resident_peak_bytes - before, :<, MEMORY_BYTES if neverblock?
  end

  def test_the_next_request_on_the_connection_comes_after_a_large_body
    connect do |client|
      2.times do
        client.write(request("/upload", method: "POST", body: PART) + request("/"))
        assert_equal Digest::SHA256.hexdigest(PART),
                     parsed(client.response(method: "POST"))["sha256"]
        assert_equal "hello", client.response.body
      end
    end
  end

  def test_a_body_whose_sender_leaves_never_reaches_the_application
    tag = new_tag
    connect do |client|
      client.write("POST /upload?tag=#{tag} HTTP/1.1\r\nHost: test\r\n" \
                   "Content-Length: 200000\r\n\r\n#{"x" * 100_000}")
      client.shutdown_write
      begin
        assert_includes [400, 408], client.response(method: "POST").status
      rescue Wire::Cut
        nil # an end without an answer is fine as well
      end
    end
    ask("/")
    assert_empty events.all("call", tag)
  end
end
