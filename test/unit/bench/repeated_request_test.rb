# frozen_string_literal: true

require "socket"
require_relative "bench_case"

class BenchRepeatedRequestTest < BenchCase
  def setup
    @listener = TCPServer.new("127.0.0.1", 0)
    @asked = Queue.new
    @answers = Queue.new
    @server = Thread.new { serve(@listener.accept) }
  end

  def teardown
    @server.kill.join
    @listener.close
  end

  def test_it_asks_again_when_it_was_answered_until_the_block_ends
    2.times { @answers << "200 OK" }
    value, count = request.during("/loop") { Array.new(3) { @asked.pop } }
    assert_equal ["GET /loop HTTP/1.1\r\n"] * 3, value
    assert_equal 2, count
  end

  def test_a_refusal_does_not_count
    @answers << "503 Service Unavailable"
    assert_equal 0, request.during("/loop") { 2.times { @asked.pop } }.last
  end

  def test_without_a_path_nothing_is_asked
    assert_equal [:value, 0], request.during(nil) { :value }
  end

  def test_once_is_over_when_the_last_was_answered
    @more = Thread.new { serve(@listener.accept) }
    answered = Thread.new { request.once("/once", clients: 2) }
    assert_equal ["GET /once HTTP/1.1\r\n"] * 2, Array.new(2) { @asked.pop }
    @answers << "200 OK"
    Thread.pass until @answers.empty?
    assert_predicate answered, :alive?
    @answers << "200 OK"
    answered.join
    assert_empty @asked
  ensure
    @more&.kill&.join
  end

  def test_once_takes_no_refusal
    @answers << "503 Service Unavailable"
    assert_equal "/once was answered by 503", assert_raises(Error) { request.once("/once") }.message
  end

  private

  def request
    RepeatedRequest.new("http://127.0.0.1:#{@listener.addr[1]}", pause: ->(_) {})
  end

  def serve(socket)
    loop do
      head = +""
      head << socket.readpartial(1) until head.end_with?("\r\n\r\n")
      @asked << head.lines.first
      socket.write("HTTP/1.1 #{@answers.pop}\r\nContent-Length: 0\r\n\r\n")
    end
  rescue IOError, SystemCallError
    nil
  end
end
