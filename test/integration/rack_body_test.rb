# frozen_string_literal: true

# The bodies an application may answer with, and what a server owes each of them: all its bytes, and
# close exactly once (Rack 3.1 SPEC, "The Body").

require "digest"
require "tempfile"

require_relative "../support/server_process_case"

class RackBodyTest < ServerProcessCase
  BODY = "one twö".b

  def closed_once(tag)
    events.await("close", tag)
    events.await("call", tag)
    assert_equal 1, settled { events.all("close", tag).size }, "close was called more than once"
  end

  # A second close would come, if at all, before the answer to a request that starts after the
  # first.
  def settled
    ask("/")
    yield
  end

  %w[array each to_ary].each do |kind|
    define_method("test_a_body_by_#{kind}_is_sent_whole_and_closed_once") do
      tag = new_tag
      assert_equal BODY, ask("/#{kind}?tag=#{tag}").body
      closed_once(tag)
    end

    define_method("test_a_body_by_#{kind}_is_closed_once_though_nobody_sees_it") do
      tag = new_tag
      assert_equal :none, ask("/#{kind}?tag=#{tag}", method: "HEAD").framing
      closed_once(tag)
    end
  end

  def test_an_array_has_a_length_and_empty_parts_do_not_end_it
    response = ask("/array?tag=#{new_tag}")
    assert_equal [:length, BODY.bytesize.to_s], [response.framing, response["content-length"]]
  end

  # RFC 9112 section 7.1: a chunk of size 0 is the last.
  def test_a_body_of_unknown_length_is_chunked_and_an_empty_part_is_no_chunk
    response = ask("/each?tag=#{new_tag}")
    assert_equal [:chunked, BODY], [response.framing, response.body]
  end

  def test_a_body_of_unknown_length_ends_a_1_0_connection # RFC 9112 section 6.3
    only_over :plain, :tls, "HTTP/1.0"
    response = ask("/each?tag=#{new_tag}", "Connection: keep-alive", version: "1.0")
    assert_includes [[:close, BODY], [:length, BODY]], [response.framing, response.body]
  end

  def test_a_part_is_sent_when_it_is_there_not_when_all_are
    gate = new_tag
    connect do |client|
      client.get("/gated_body?gate=#{gate}&tag=#{gate}")
      until client.take_line.empty?; end
      assert_equal ["3", "one"], [client.take_line, client.take(3)]
      ask("/open?gate=#{gate}")
      assert_equal "\r\n3\r\ntwo\r\n0\r\n\r\n", client.take(15)
    end
    closed_once(gate)
  end

  def test_a_length_the_application_gave_is_kept
    response = ask("/each_with_length?tag=#{new_tag}")
    assert_equal [:length, "0123456789"], [response.framing, response.body]
  end

  # RFC 9112 section 8: never a complete-looking message.
  def test_a_body_shorter_than_its_length_is_cut_and_logged_once
    tag = new_tag
    response = ask("/each_too_short?tag=#{tag}", tolerate_cut: true)
    assert response.cut?, response.inspect
    assert_equal "0123456789", response.body
    closed_once(tag)
    assert_equal 1, logged("/each_too_short")
  end

  def test_a_body_longer_than_its_length_is_cut_off_there_and_logged_once # RFC 9110 section 8.6
    tag = new_tag
    response = ask("/each_too_long?tag=#{tag}")
    assert_equal "01234567", response.body
    closed_once(tag)
    assert_equal 1, logged("/each_too_long")
  end

  def test_empty_bodies_are_framed
    assert_equal [:length, ""],
                 ask("/empty_array").then { |response| [response.framing, response.body] }
    tag = new_tag
    assert_equal "", ask("/empty_each?tag=#{tag}").body
    closed_once(tag)
  end

  def test_a_frozen_response_is_fine
    assert_equal "frozen", ask("/frozen_array").body
  end

  [204, 304].each do |status|
    # RFC 9110 sections 15.3.5, 15.4.5.
    define_method("test_a_#{status}_has_no_body_and_its_body_is_closed_once") do
      tag = new_tag
      connect do |client|
        client.get("/status_with_body?status=#{status}&tag=#{tag}")
        assert_equal status, client.response.status
        client.get("/")
        assert_equal "hello", client.response.body
      end
      closed_once(tag)
    end
  end

  def test_head_gets_the_fields_of_get # RFC 9110 section 9.3.2
    connect do |client|
      client.write(request("/array?tag=#{new_tag}", method: "HEAD") +
                   request("/array?tag=#{new_tag}"))
      head = client.response(method: "HEAD")
      get = client.response
      assert_equal get["content-type"], head["content-type"]
      assert_includes [nil, get["content-length"]], head["content-length"]
      assert_equal BODY, get.body
    end
  end

  def test_a_body_that_raises_before_its_first_part_becomes_a_500
    tag = new_tag
    assert_equal 500, ask("/raise_in_first_each?tag=#{tag}").status
    closed_once(tag)
    assert_equal 1, logged("each of #{tag} failed")
  end

  def test_a_chunked_body_that_raises_is_cut_and_never_ended_cleanly
    tag = new_tag
    response = ask("/raise_in_second_each?tag=#{tag}", tolerate_cut: true)
    assert response.status == 500 || response.cut?,
           "a truncated body looks complete: #{response.inspect}"
    closed_once(tag)
    assert_equal 1, logged("each of #{tag} failed")
  end

  def test_a_body_with_a_length_that_raises_is_cut
    tag = new_tag
    response = ask("/raise_in_each_with_length?tag=#{tag}", tolerate_cut: true)
    assert response.status == 500 || response.cut?, response.inspect
    closed_once(tag)
  end

  # Nothing else tells it from a complete one.
  def test_a_1_0_body_of_unknown_length_that_raises_is_reset
    only_over :plain, :tls, "HTTP/1.0"
    response = ask("/raise_in_second_each?tag=#{new_tag}", version: "1.0", tolerate_cut: true)
    assert response.status == 500 || response.cut?,
           "a truncated body looks complete: #{response.inspect}"
  end

  def test_a_close_that_raises_is_logged_once_and_does_no_harm
    tag = new_tag
    assert_equal "ab", ask("/raise_in_close?tag=#{tag}").body
    closed_once(tag)
    assert_equal 1, logged("close of #{tag} failed")
  end

  def test_a_part_that_is_no_string_is_an_error_or_becomes_one
    tag = new_tag
    response = ask("/part_not_a_string?tag=#{tag}", tolerate_cut: true)
    assert response.status == 500 || response.cut? || response.body == "a5", response.inspect
    closed_once(tag)
  end

  def test_a_body_is_closed_once_when_the_client_leaves_in_the_middle
    tag = new_tag
    connect do |client|
      client.get("/endless?tag=#{tag}")
      client.take_line
      client.abort
    end
    closed_once(tag)
    events.await("unwound", tag)
  end

  def test_a_body_is_closed_once_when_the_client_leaves_before_it_begins
    tag = new_tag
    connect do |client|
      client.get("/endless?tag=#{tag}")
      client.abort
    end
    3.times { ask("/") }
    # It may have left before the application was asked.
    closed_once(tag) unless events.all("call", tag).empty?
  end

  def test_a_refused_header_closes_the_body_once
    tag = new_tag
    response = ask("/injection?tag=#{tag}")
    assert_equal 500, response.status
    assert_nil response["injected"]
    closed_once(tag)
  end

  # -- to_path ------------------------------------------------------------

  def with_file(bytes)
    file = Tempfile.new("neverblock")
    file.binmode
    file.write(bytes)
    file.flush
    yield file
  ensure
    file.close!
  end

  [0, 1, 65_535, 65_536, 3_000_001].each do |size|
    define_method("test_a_file_of_#{size}_bytes_is_sent_as_it_is_and_never_through_each") do
      tag = new_tag
      bytes = Random.new(size).bytes(size)
      with_file(bytes) do |file|
        response = ask("/file?tag=#{tag}", "X-File: #{file.path}")
        assert_equal [200, :length, size.to_s],
                     [response.status, response.framing, response["content-length"]]
        assert_equal Digest::SHA256.hexdigest(bytes), Digest::SHA256.hexdigest(response.body)
      end
      closed_once(tag)
      assert_empty events.all("each", tag), "the file went through Ruby strings" if neverblock?
    end
  end

  def test_head_of_a_file_has_its_length_only
    tag = new_tag
    with_file("x" * 1000) do |file|
      connect do |client|
        client.write(request("/file?tag=#{tag}", "X-File: #{file.path}", method: "HEAD") +
                     request("/"))
        assert_includes [nil, "1000"], client.response(method: "HEAD")["content-length"]
        assert_equal "hello", client.response.body
      end
    end
    closed_once(tag)
  end

  def test_the_connection_goes_on_after_a_file
    with_file("x" * 200_000) do |file|
      connect do |client|
        3.times do
          client.write(request("/file?tag=#{new_tag}", "X-File: #{file.path}"))
          assert_equal 200_000, client.response.body.bytesize
        end
      end
    end
  end

  def test_a_length_shorter_than_the_file_sends_that_much
    with_file("0123456789") do |file|
      response = ask("/file?tag=#{new_tag}", "X-File: #{file.path}", "X-Length: 4",
                     tolerate_cut: true)
      assert_includes ["0123", "0123456789"], response.body unless response.status == 500
    end
  end

  def test_a_length_longer_than_the_file_is_cut_and_never_padded
    with_file("0123456789") do |file|
      response = ask("/file?tag=#{new_tag}", "X-File: #{file.path}", "X-Length: 20",
                     tolerate_cut: true)
      next if response.status == 500

      assert_equal "0123456789", response.body
      assert response.cut? || response["content-length"] == "10", response.inspect
    end
  end

  def test_a_file_that_is_not_there_is_a_500
    tag = new_tag
    assert_equal 500, ask("/file?tag=#{tag}", "X-File: /nonexistent/file").status
    closed_once(tag)
  end

  def test_a_file_that_shrinks_while_it_is_sent_cuts_the_connection
    bytes = Random.new(1).bytes(16_000_000)
    tag = new_tag
    with_file(bytes) do |file|
      connect(receive_buffer_bytes: 8192) do |client|
        client.write(request("/file?tag=#{tag}", "X-File: #{file.path}"))
        client.take(1000)
        File.truncate(file.path, 1_000_000)
        rest, = client.take_to_end
        assert_operator rest.bytesize, :<, bytes.bytesize, "it was padded"
      end
    end
    closed_once(tag)
    assert_equal 200, ask("/").status
  end

  def test_a_file_that_grows_while_it_is_sent_stops_at_the_announced_length
    bytes = Random.new(2).bytes(8_000_000)
    with_file(bytes) do |file|
      connect(receive_buffer_bytes: 8192) do |client|
        client.write(request("/file?tag=#{new_tag}", "X-File: #{file.path}") + request("/"))
        assert_equal "HTTP/1.1 200 OK", client.take_line
        File.write(file.path, "more", mode: "a")
        until client.take_line.empty?; end
        assert_equal bytes, client.take(8_000_000)
        assert_equal "hello", client.response.body
      end
    end
  end
end
