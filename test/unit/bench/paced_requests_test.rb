# frozen_string_literal: true

require "socket"
require_relative "bench_case"

class BenchPacedRequestsTest < BenchCase
  def setup
    @listener = TCPServer.new("127.0.0.1", 0)
    @asked = Queue.new
    @status = "200 OK"
    @threads = []
    @acceptor = Thread.new do
      loop { @listener.accept.then { |socket| @threads << Thread.new { serve(socket) } } }
    end
  end

  def teardown
    [@acceptor, *@threads].each { |thread| thread.kill.join }
    @listener.close
  end

  def test_it_asks_only_while_it_goes_on
    paced = start
    assert_empty @asked
    paced.go
    assert_equal ["GET /light HTTP/1.1\r\n"] * 20, Array.new(20) { @asked.pop }
    paced.pause
    assert_equal 0, paced.stop
  end

  def test_what_is_refused_counts
    @status = "503 Service Unavailable"
    paced = start
    paced.go
    5.times { @asked.pop }
    assert_operator paced.stop, :>, 0
  end

  private

  def start
    PacedRequests.new("http://127.0.0.1:#{@listener.addr[1]}",
                      Arrivals.new(rate: 2_000, path: "/light"))
  end

  def serve(socket)
    loop do
      head = +""
      head << socket.readpartial(1) until head.end_with?("\r\n\r\n")
      socket.write("HTTP/1.1 #{@status}\r\nContent-Length: 0\r\n\r\n")
      @asked << head.lines.first
    end
  rescue IOError, SystemCallError
    nil
  end
end
