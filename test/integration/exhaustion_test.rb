# frozen_string_literal: true

# Out of places and of descriptors: who is there is served on, who comes is told to come again, who
# asks is answered, and all is well when they have left. Here with a few hundred descriptors, in
# test/slow with all that the machine allows.

require_relative "../support/exhaustion"

class ExhaustionTest < Minitest::Test
  include Exhaustion

  only_over :plain, "its crowds are sockets that send plain text"

  DESCRIPTORS = 400
  RESERVED = DESCRIPTORS / 8 # core/loop/loop.c

  WAYS = {
    "one process" => [], "two workers" => %w[-w 2], "two I/O threads" => %w[--io-threads 2]
  }.freeze

  WAYS.each do |way, options|
    define_method("test_all_descriptors_in_use_with_#{way.tr(" ", "_")}") do
      exhaust(DESCRIPTORS, options: options) { |server| survive(server) }
    end
  end

  private

  def survive(server)
    kept = %w[/opens /small.txt /hello /1.txt].map do |path|
      Wire::Client.new(server.server.url).tap do |client|
        client.write("GET #{path} HTTP/1.1\r\nHost: te")
      end
    end
    Patience.await("them to be taken") { server.connections["open"] == kept.size }
    server.crowd_in("bodies", 0.2)
    server.crowd_in("downloads", 0.2)
    server.crowd_in("heads", 0.4, processes: 2)
    with_some_left(server, *kept.take(2))
    server.go_on
    with_none_left(server, *kept.drop(2))
    server.leave
    server.await_service
    assert_equal ["file 19", "10"], %w[/19.txt /opens].map { |path| server.ask(path).body }
    Patience.await("descriptors to be closed") { server.descriptors_open < DESCRIPTORS / 2 }
    told = server.server.stderr.lines.grep(/no descriptor left for another connection/)
    assert_equal 1, told.size, server.server.stderr
  ensure
    kept&.each(&:close)
  end

  # Newcomers are refused; what is kept back is for files, bodies, and the application.
  def with_some_left(server, opens, small)
    refusal = server.ask("/hello")
    assert_equal [503, "1"], [refusal.status, refusal["retry-after"]]
    assert_equal [200, "ok\n"], server.admin("/health")
    assert_operator server.descriptors_open, :<, DESCRIPTORS - (RESERVED / 2),
                    server.descriptors.to_s
    bodies = [opens, small].map { |client| client.write("st\r\n\r\n") && client.response.body }
    assert_equal %w[10 small], bodies
  end

  # More bodies have gone to files than there were descriptors for.
  def with_none_left(server, hello, file)
    Patience.await("bodies to find no file", -> { server.tallies }) do
      server.tallies.first["refused"].to_i.positive?
    end
    assert_equal [200, "ok\n"], server.admin("/health")
    assert_equal "hello", hello.write("st\r\n\r\n") && hello.response.body
    response = file.write("st\r\n\r\n") && file.response
    refusal = "503 Service Unavailable: no file can be opened now, try again\n"
    assert_includes [[200, "file 1", nil], [503, refusal, "1"]],
                    [response.status, response.body, response["retry-after"]]
  end
end
