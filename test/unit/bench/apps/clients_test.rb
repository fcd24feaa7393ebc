# frozen_string_literal: true

require_relative "app_case"

class BenchClientsAppTest < AppCase
  # Answers when as many requests wait as were announced. Requests that come one after the other get
  # no answer.
  class Together
    attr_reader :url

    def initialize(count)
      @count = count
      @server = TCPServer.new("127.0.0.1", 0)
      @url = "http://127.0.0.1:#{@server.addr[1]}"
      @thread = Thread.new { serve }
    end

    def stop
      @thread.kill.join
      @server.close
    end

    private

    # The warm-up asks /0 and is answered at once.
    def serve
      waiting = []
      loop do
        socket = @server.accept
        path = socket.gets[/\S+ (\S+)/, 1]
        nil until socket.gets == "\r\n"
        next answer(socket) if path == "/0"

        waiting << socket
        next if waiting.size < @count

        waiting.each { |one| answer(one) }.clear
      end
    end

    def answer(socket)
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\nHello World")
      socket.close
    end
  end

  def test_each_way_has_as_many_requests_in_flight_as_asked
    %w[threads fibers pool].each do |way|
      found = ask(way, at_once: 20)
      assert_equal({}, found["errors"], way)
      assert_equal 60, found["count"], way
      assert_equal 20, found["in_flight_max"], way
      assert_kind_of Float, found["burst_rate"], way
    end
  end

  def test_blocking_asks_one_after_the_other
    found = ask("blocking", at_once: 1)
    assert_equal({}, found["errors"])
    assert_equal 3, found["count"]
  end

  def test_no_request_begins_when_the_time_is_over
    found, seconds = refused("/0")
    assert_operator found["seconds"], :>=, seconds
  end

  def test_a_wrong_answer_is_an_error
    found, = refused("/100")
    assert_equal ["Errno::ECONNREFUSED"], found["errors"].keys
    assert_equal found["count"], found["errors"].values.sum
  end

  private

  # Long enough for each thread to have asked, which on a busy machine takes its time.
  # @return [Array(Hash, Float)] what was found, and the seconds it was given
  def refused(path)
    found = nil
    seconds = 0.05
    until found && found["count"] >= 2
      found = measure("clients.rb", { way: "threads", url: "http://127.0.0.1:1", path: path,
                                      connections: 2, seconds: seconds *= 2, warmup_seconds: 0 })
    end
    [found, seconds]
  end

  # With answers that take 10 s, an ideal client makes three waves in 30 s. Here answers come at
  # once, so the run ends with the third wave and no request is cut off.
  def ask(way, at_once:)
    server = Together.new(at_once)
    measure("clients.rb", { way: way, url: server.url, path: "/10000", connections: at_once,
                            seconds: 30, warmup_seconds: 0 })
  ensure
    server&.stop
  end
end
