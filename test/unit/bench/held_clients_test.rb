# frozen_string_literal: true

require_relative "bench_case"

class BenchHeldClientsTest < BenchCase
  ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nHello World"
  BOUND_SECONDS = 60

  def setup
    @listener = TCPServer.new("127.0.0.1", 0)
    @taken = []
  end

  def teardown
    @server&.kill&.join
    [@listener, *@taken].each { |socket| socket.close unless socket.closed? }
  end

  def test_each_client_asks_when_the_one_before_has_its_answer
    asked = Queue.new
    serve { |socket| asked << head_of(socket).lines.first && socket.write(ANSWER) }
    hold do |clients|
      assert_equal 3, clients.ask(3, "/path", expects: "World")
      assert_equal ["GET /path HTTP/1.1\r\n"] * 3, Array.new(asked.size) { asked.pop }
      assert_equal 3, clients.answered("World", within: BOUND_SECONDS)
      assert_equal 3, clients.open
    end
  end

  def test_clients_that_need_not_wait_have_all_asked_before_the_first_is_answered
    serve(answer: false) { |socket| @taken << socket }
    hold do |clients|
      assert_equal 2, clients.ask(2, "/")
      assert_equal 0, clients.answered("World", within: 0)
      Thread.pass until @taken.size == 2
      @taken.each { |socket| socket.write(ANSWER) }
      assert_equal 2, clients.answered("World", within: BOUND_SECONDS)
    end
  end

  def test_another_status_is_no_answer
    serve do |socket|
      head_of(socket) && socket.write(ANSWER.sub("200 OK", "503 Service Unavailable"))
    end
    hold do |clients|
      assert_equal 1, clients.ask(3, "/", expects: "World")
      assert_equal 0, clients.answered("World", within: BOUND_SECONDS)
    end
  end

  def test_who_is_closed_by_the_server_is_no_longer_open
    serve { |socket| head_of(socket) && socket.write(ANSWER) && @taken.first.close }
    hold do |clients|
      clients.ask(1, "/", expects: "World")
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + BOUND_SECONDS
      until clients.open.zero? || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
        Thread.pass
      end
      assert_equal 0, clients.open
    end
  end

  def test_where_nobody_listens_there_are_no_clients
    port = @listener.addr[1]
    @listener.close
    assert_equal 0, HeldClients.hold("http://127.0.0.1:#{port}") { |clients| clients.ask(3, "/") }
  end

  def test_they_leave_with_the_block
    serve { |socket| @taken << socket }
    hold { |clients| clients.ask(1, "/") }
    Thread.pass until @taken.size >= 1
    assert_raises(EOFError, Errno::ECONNRESET) { loop { @taken.first.readpartial(100) } }
  end

  private

  def hold(&block)
    HeldClients.hold("http://127.0.0.1:#{@listener.addr[1]}", &block)
  end

  def serve(answer: true)
    @server = Thread.new do
      loop do
        socket = @listener.accept
        @taken << socket if answer
        yield socket
      end
    rescue IOError, SystemCallError
      nil
    end
  end

  def head_of(socket)
    head = +""
    head << socket.readpartial(4096) until head.end_with?("\r\n\r\n")
    head
  end
end
