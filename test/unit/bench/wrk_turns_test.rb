# frozen_string_literal: true

require "socket"
require_relative "bench_case"

class BenchWrkTurnsTest < BenchCase
  def setup
    skip "wrk is not installed" unless Wrk.version
    @servers = Array.new(2) { TCPServer.new("127.0.0.1", 0) }
    @asked = [0, 0]
    @threads = @servers.each_with_index.map { |server, place| Thread.new { serve(server, place) } }
  end

  def teardown
    @threads&.each { |thread| thread.kill.join }
    @servers&.each(&:close)
  end

  def test_each_server_is_asked_and_told_of_in_its_place
    outcomes = run_turns(@servers)
    assert_equal [0, 0], outcomes.map(&:error_count)
    outcomes.zip(@asked) do |outcome, asked|
      assert_includes [asked, asked - 1], outcome.requests, "an answer may be under way at the end"
    end
    assert_operator outcomes.map(&:requests).min, :>, 0
  end

  def test_a_server_that_is_not_there_is_an_error_and_no_wrk_is_left
    urls = [url(@servers.first), "http://127.0.0.1:1"]
    error = assert_raises(Error) do
      WrkTurns.new.run(Load.new(connections: 1), urls: urls, seconds: 0.1)
    end
    assert_includes error.message, "unable to connect to 127.0.0.1:1"
    assert_empty IO.popen(["pgrep", "-P", Process.pid.to_s, "-x", "wrk"], &:read)
  end

  private

  def run_turns(servers)
    urls = servers.map { |server| url(server) }
    WrkTurns.new.run(Load.new(connections: 1), urls: urls, seconds: 0.3)
  end

  def url(server)
    "http://127.0.0.1:#{server.addr[1]}"
  end

  def serve(server, place)
    socket = server.accept
    loop do
      socket.readpartial(65_536)
      @asked[place] += 1
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    end
  rescue EOFError, SystemCallError
    retry
  end
end
