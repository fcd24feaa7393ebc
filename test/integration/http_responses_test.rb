# frozen_string_literal: true

# What the server itself puts on the wire, whatever the application: fields of its own, its error
# answers, and how it ends a connection.

require "time"

require_relative "../support/server_process_case"

class HttpResponsesTest < ServerProcessCase
  # Inputs the server answers by itself, with the status.
  REFUSED = {
    "GET / HTTP/1.1\r\n\r\n" => 400, # RFC 9112 section 3.2
    "GET / HTTP/2.0\r\nHost: test\r\n\r\n" => 505, # RFC 9110 section 15.6.6
    "GET /#{"a" * 20_000} HTTP/1.1\r\nHost: test\r\n\r\n" => 414, # RFC 9110 section 15.5.15
    "GET / HTTP/1.1\r\nHost: test\r\nX: #{"a" * 70_000}\r\n\r\n" => 431, # RFC 6585 section 5
    "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 200000000\r\n\r\n" =>
      413, # RFC 9110 section 15.5.14
    "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\nExpect: else\r\n\r\n" =>
      417, # RFC 9110 section 15.5.18
    "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n" => 405 # RFC 9110 section 15.5.6
  }.freeze

  REFUSED.each do |bytes, status|
    define_method("test_a_#{status}_is_plain_text_with_a_length_a_date_and_an_announced_end") do
      only_over :plain, :tls, "the text of HTTP/1.1" if [400, 505].include?(status)
      connect do |client|
        before = Time.now
        client.write(bytes)
        response = client.response
        assert_equal status, response.status
        assert_match(%r{\Atext/plain\b}, response["content-type"])
        assert_equal :length, response.framing
        refute_empty response.body
        assert_date_since before, response
        assert_ending client, response
      end
    end
  end

  # Of HTTP/2 only the stream ends.
  def assert_ending(client, response)
    return if Over.http2?

    assert_equal "close", response["connection"]&.downcase
    assert_equal :eof, client.ending
  end

  # Its clock ticks in seconds.
  def assert_date_since(before, response)
    assert_includes (before - 2)..(Time.now + 2), Time.httpdate(response["date"])
  end

  def test_a_405_names_what_is_allowed # RFC 9110 section 15.5.6: MUST
    connect do |client|
      client.write("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n")
      refute_nil client.response["allow"]
    end
  end

  def test_a_refusal_of_a_head_request_has_no_body # RFC 9110 section 9.3.2
    connect do |client|
      client.write("HEAD / HTTP/1.1\r\nHost: test\r\nContent-Length: 200000000\r\n\r\n")
      assert_equal 413, client.response(method: "HEAD").status
      assert_equal :eof, client.ending
    end
  end

  # RFC 9112 section 9.6: no reset that destroys the answer.
  def test_a_refused_upload_can_be_sent_on_while_the_answer_is_read
    connect do |client|
      client.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 200000000\r\n\r\n")
      20.times { break unless client.write("x" * 10_000) }
      assert_equal 413, client.response(method: "POST").status
      assert_equal :eof, client.ending, "a reset can take the answer away from the client"
    end
  end

  def test_responses_have_one_date # RFC 9110 section 6.6.1
    assert_date_since Time.now, ask("/")
    response = ask("/own_date")
    assert_equal ["Sun, 06 Nov 1994 08:49:37 GMT"], response.all("date")
  end

  def test_close_asked_for_by_the_application_closes_and_over_http_2_goes_nowhere
    connect do |client|
      client.get("/close_please")
      assert_ending client, client.response
    end
  end

  def test_an_application_cannot_switch_protocols_nor_set_hop_by_hop_fields # RFC 9110 section 7.6.1
    connect do |client|
      client.get("/upgrade_please")
      response = client.response
      assert_equal [200, "body"], [response.status, response.body]
      refute_match(/upgrade/i, response["connection"].to_s)
      assert_nil response["keep-alive"]
    end
  end

  def test_unknown_statuses_have_an_empty_reason_and_keep_their_space # RFC 9112 section 4
    connect do |client|
      client.get("/status_with_body?status=299&tag=#{new_tag}")
      assert_match(%r{\AHTTP/1\.1 299 }, client.take_line)
    end
  end

  def test_head_and_first_body_bytes_leave_together
    connect do |client|
      client.get("/")
      client.take_line
      assert_includes client.buffered, "\r\n\r\nhello", "the body came in a packet of its own"
    end
  end

  def test_a_body_that_comes_in_two_halves_far_apart_is_waited_for
    connect do |client|
      client.write("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\nabc")
      assert_equal "hello", ask("/").body
      client.write("def")
      assert_equal "POST  abcdef", client.response(method: "POST").body
    end
  end
end
