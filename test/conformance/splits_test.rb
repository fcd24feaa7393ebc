# frozen_string_literal: true

# Tests that one stream of many requests is understood the same however TCP splits it (RFC 9112
# section 2: a message is a sequence of octets). A stream that breaks off anywhere leaves the server
# as it was.

require_relative "judge"
require_relative "../support/server_process_case"

class SplitsTest < ServerProcessCase
  only_over :plain, :tls, "the text of HTTP/1.1"

  ROUNDS = 120
  PIECES_MAX = 24
  # A body over 64 KB goes to a file, so this one moves from memory to disk in the middle of a
  # piece.
  LARGE = "0123456789abcdef" * 4608

  # Requests with what must be answered: status, method, and what the application saw.
  REQUESTS = [
    ["GET /a?b=c HTTP/1.1\r\nHost: test\r\n\r\n", "GET", "/a", ""],
    ["\r\nPOST /b HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nabcde", "POST", "/b", "abcde"],
    ["POST /c HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n" \
     "3;x=\"y\"\r\nabc\r\n0002\r\nde\r\n0\r\nTrailer: 1\r\n\r\n", "POST", "/c", "abcde"],
    ["HEAD /d HTTP/1.1\r\nHost: test\r\n\r\n", "HEAD", "/d", ""],
    ["PUT /e HTTP/1.1\r\nHost: test\r\nX-Long: #{"v" * 3000}\r\n" \
     "Content-Length: #{LARGE.bytesize}\r\n\r\n#{LARGE}", "PUT", "/e", LARGE],
    ["GET http://test/f HTTP/1.1\r\nHost: test\r\n\r\n", "GET", "/f", ""],
    ["POST /g HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n" \
     "#{LARGE.bytesize.to_s(16)}\r\n#{LARGE}\r\n0\r\n\r\n", "POST", "/g", LARGE],
    ["POST /h HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n", "POST", "/h", ""],
    ["DELETE /i HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n", "DELETE", "/i", ""]
  ].each { |row| row[0] = row[0].b }.freeze
  STREAM = REQUESTS.map(&:first).join.freeze

  def self.app
    <<~RACKUP
      require "#{File.expand_path("../support/app_recorder", __dir__)}"
      run RecorderApp.new
    RACKUP
  end

  def self.server_options
    { options: ServerProcess::UNHURRIED }
  end

  # Cut points, more of them where the requests' heads are than inside the large bodies.
  def pieces(random)
    count = random.rand(1..PIECES_MAX)
    interesting = STREAM.enum_for(:scan, /[\r\n:; ]/n).map do
      Regexp.last_match.begin(0) + random.rand(0..1)
    end
    cuts = Array.new(count) do
      random.rand(3).zero? ? random.rand(STREAM.bytesize) : interesting.sample(random: random)
    end
    [0, *cuts.uniq.sort, STREAM.bytesize].uniq.each_cons(2).map do |from, to|
      STREAM.byteslice(from...to)
    end
  end

  def assert_all_answered(client)
    REQUESTS.each do |_bytes, method, path, body|
      response = client.response(method: method)
      assert_equal 200, response.status, path
      next if method == "HEAD"

      seen = JSON.parse(response.body)
      assert_equal [method, path, body.bytesize],
                   [seen["method"], seen["path"], seen["body"].bytesize]
      assert_equal body, seen["body"] unless body.bytesize > 100
    end
    assert_equal :eof, client.ending
  end

  def test_a_stream_is_understood_however_it_is_cut
    ROUNDS.times do |seed|
      connect do |client|
        client.deliver(pieces(Random.new(seed)))
        assert_all_answered(client)
      rescue Wire::Error, Minitest::Assertion => e
        raise e.class, "seed #{seed}: #{e.message}"
      end
    end
    forget
  end

  def test_a_stream_that_breaks_off_anywhere_does_no_harm
    ROUNDS.times do |seed|
      random = Random.new(seed)
      connect do |client|
        client.deliver(pieces(random).first(random.rand(PIECES_MAX)))
        random.rand(2).zero? ? client.abort : client.shutdown_write
      end
    end
    connect do |client|
      client.write(STREAM)
      assert_all_answered(client)
    end
    forget
  end

  # The application keeps what it saw until it is asked.
  def forget
    assert_equal 200, ask("/-/seen").status
  end
end
