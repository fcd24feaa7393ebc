# frozen_string_literal: true

# Tests the wire client itself: it reports what no server may send, and its pieces arrive apart. The
# other suites depend on that.

require "minitest/autorun"

require_relative "../support/wire"

class WireTest < Minitest::Test
  only_over :plain, "the tests' own client, at a service of the test"

  # A server that sends the bytes to each client, and ends the connection.
  def answered_with(bytes, method: "GET", version: "1.1", reset: false)
    listener = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new do
      socket = listener.accept
      socket.write(bytes)
      reset_after_reading(socket) if reset
      socket.close
    end
    Wire::Client.open("http://127.0.0.1:#{listener.local_address.ip_port}") do |client|
      yield client, { method: method, version: version }
    end
  ensure
    thread&.join
    listener&.close
  end

  # Not before: a reset that overtakes the bytes may be told in other ways.
  def reset_after_reading(socket)
    Wire::Kernel.wait_until_peer_has_read(socket, Patience::SECONDS)
    socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
  end

  MALFORMED = {
    "no version" => "200 OK\r\n\r\n",
    "another version" => "HTTP/2.0 200 OK\r\n\r\n",
    "no space behind the status" => "HTTP/1.1 200\r\n\r\n",
    "a status of four digits" => "HTTP/1.1 2000 OK\r\n\r\n",
    "a status of 99" => "HTTP/1.1 099 OK\r\n\r\n",
    "a bare LF" => "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n",
    "a bare CR" => "HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 0\r\n\r\n",
    "NUL" => "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n",
    "a space before the colon" => "HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 0\r\n\r\n",
    "an empty name" => "HTTP/1.1 200 OK\r\n: a\r\nContent-Length: 0\r\n\r\n",
    "a folded line" => "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "two lengths" => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "a length that is no number" => "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na",
    "length and coding" => "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n" \
                           "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "another coding" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    "a chunk size in no hex" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" \
                                "0x1\r\na\r\n0\r\n\r\n",
    "a chunk extension" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" \
                           "1;a\r\na\r\n0\r\n\r\n",
    "a chunk too long" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" \
                          "1\r\nab\r\n0\r\n\r\n",
    "trailers" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n",
    "a length in a 204" => "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
    "a length in a 100" => "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n"
  }.freeze

  MALFORMED.each do |name, bytes|
    define_method("test_#{name}_is_malformed") do
      answered_with(bytes) do |client, request|
        assert_raises(Wire::Malformed) { client.response(**request) }
      end
    end
  end

  { "inside the head" => "HTTP/1.1 200 OK\r\nContent-Le",
    "inside the body" => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
    "inside a chunk" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
    "before the last chunk" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" \
                               "1\r\na\r\n" }.each do |name, bytes|
    define_method("test_an_end_#{name}_is_a_cut") do
      answered_with(bytes) do |client, request|
        assert_raises(Wire::Cut) { client.response(**request) }
      end
    end
  end

  def test_chunks_are_no_answer_to_1_0
    bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    answered_with(bytes, version: "1.0") do |client, request|
      assert_raises(Wire::Malformed) { client.response(**request) }
    end
  end

  def test_a_body_behind_the_head_of_head_is_found
    answered_with("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
                  method: "HEAD") do |client, request|
      assert_equal "", client.response(**request).body
      assert_raises(Wire::Malformed) { client.ending }
    end
  end

  def test_good_responses_are_read
    interim = "HTTP/1.1 100 Continue\r\n\r\n"
    chunked = "HTTP/1.1 200 OK\r\nA: b\r\na: c\r\nTransfer-Encoding: chunked\r\n\r\n" \
              "3\r\nabc\r\n0\r\n\r\n"
    answered_with("#{interim}#{chunked}HTTP/1.1 299 \r\n\r\nxyz") do |client, request|
      first = client.response(**request)
      assert_equal [200, "abc", :chunked, "b, c", [100]],
                   [first.status, first.body, first.framing, first["A"],
                    first.interim.map(&:status)]
      second = client.response(**request)
      assert_equal [299, "xyz", :close, false],
                   [second.status, second.body, second.framing, second.cut?]
    end
  end

  def test_a_reset_is_told_from_an_end
    answered_with("HTTP/1.1 200 OK\r\n\r\nabc", reset: true) do |client, request|
      assert client.response_as_far_as_it_comes(**request).cut?
    end
  end

  def test_nothing_in_time_is_overdue
    listener = TCPServer.new("127.0.0.1", 0)
    Wire::Client.open("http://127.0.0.1:#{listener.local_address.ip_port}",
                      deadline_s: 0.05) do |client|
      assert_raises(Wire::Overdue) { client.response }
    end
  ensure
    listener&.close
  end

  def test_pieces_arrive_apart
    bytes = "GET / HTTP/1.1\r\nHost: test\r\n\r\n"
    deliveries = { bytewise: [1] * bytes.bytesize, by_line: bytes.lines.map(&:bytesize),
                   whole: [bytes.bytesize] }
    deliveries.each do |delivery, sizes|
      listener = TCPServer.new("127.0.0.1", 0)
      reader = Thread.new { reads(listener.accept) }
      Wire::Client.open("http://127.0.0.1:#{listener.local_address.ip_port}",
                        settle_s: Patience::SECONDS) do |client|
        client.deliver(Wire::Delivery.public_send(delivery, bytes))
      end
      assert_equal sizes, reader.value, delivery.to_s
    ensure
      listener&.close
    end
  end

  def reads(socket)
    sizes = []
    loop { sizes << socket.readpartial(65_536).bytesize }
  rescue EOFError
    sizes
  end
end
