# frozen_string_literal: true

# The application's own word on the order of responses (RFC 9218 section 8), seen by the order of
# frames when a window opens that was shut. What clients say is in test/c/protocols.

require_relative "../support/http2_wire"
require_relative "../support/server_process_case"

class Http2PriorityTest < ServerProcessCase
  only_over :plain, "they make their own frames, by prior knowledge"

  include Http2Wire
  include Http2Wire::Frames

  WINDOW_BYTES = 65_535

  def self.app
    <<~RUBY
      run(lambda do |env|
        bytes, priority = env["QUERY_STRING"].split("&")
        seen = env["HTTP_PRIORITY"].to_s
        [200, { "x-seen" => seen, **(priority ? { "priority" => priority } : {}) },
         ["x" * Integer(bytes)]]
      end)
    RUBY
  end

  def setup
    skip "this build has no HTTP/2" unless Http2Wire.spoken?(server.url)
  end

  # @param requests [Array<(String, String)>] what the client says, and what the application says
  # @return [Array<Integer>] which of them end first
  def order(requests)
    Client.open(server.url) do |client|
      client.send(PREFACE + settings)
      left = WINDOW_BYTES
      client.request("/?#{WINDOW_BYTES}")
      left -= client.await(DATA).payload.bytesize while left.positive?
      streams = requests.map do |asked, answered|
        fields = asked ? { "priority" => asked } : {}
        client.request("/?40000#{"&#{answered}" if answered}", fields: fields)
      end
      streams.each { client.await(HEADERS) }
      client.send(window_update(0, 1_000_000))
      streams.map { streams.index(client.await(DATA) { |frame| frame.flag?(END_STREAM) }.stream) }
    end
  end

  def test_what_the_application_says_counts_more_than_what_the_client_says
    assert_equal [0, 1], order([["u=1", nil], ["u=5", nil]])
    assert_equal [1, 0], order([["u=1", "u=6"], ["u=5", "u=2"]])
    assert_equal [1, 0], order([["u=4", nil], [nil, "u=0"]])
  end

  # Members that it leaves out are the client's. A malformed field says nothing.
  def test_what_the_application_leaves_to_the_client
    assert_equal [0, 1, 2], order([["u=2", "i=?0"], ["u=2", "i=?0"], ["u=4", "i=?0"]])
    assert_equal [0, 1], order([["u=1", "u=6,"], ["u=5", "u="]])
  end
end
