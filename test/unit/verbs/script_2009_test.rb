# frozen_string_literal: true

require_relative "verbs_case"
require "socket"

# examples/script_2009. All twenty requests are under way at once: the service answers none before
# it has read all of them.
class Script2009Test < VerbsCase
  REQUESTS = 20
  SCRIPT = File.expand_path("../../../examples/script_2009/script.rb", __dir__)

  def test_all_twenty_requests_are_inside_before_one_is_answered
    service = TCPServer.new("127.0.0.1", 0)
    inside = Queue.new
    thread = Thread.new { answer_all(service, inside) }
    url = "http://localhost:#{service.local_address.ip_port}/"
    status, out, err = ruby("load ARGV.shift", SCRIPT, url)
    assert_equal "", err
    assert_equal 0, status
    assert_equal REQUESTS, inside.size
    assert_equal (0...REQUESTS).map { |i| "#{i}: hello" },
                 out.lines(chomp: true).grep(/hello/).sort_by(&:to_i)
    assert_match(/\A20 requests in \d+\.\d\d s\z/, out.lines(chomp: true).last)
  ensure
    thread&.kill
    service&.close
  end

  private

  def answer_all(service, inside)
    clients = Array.new(REQUESTS) do
      service.accept.tap do |client|
        nil until client.gets == "\r\n"
        inside << true
      end
    end
    clients.each do |client|
      client.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
      client.close
    end
  end
end
