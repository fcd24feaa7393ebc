# frozen_string_literal: true

# The environment an application is given (Rack 3.1 SPEC, "The Environment").

require_relative "../support/server_process_case"

class RackEnvTest < ServerProcessCase
  def env_of(target = "/env", *fields, **rest)
    parsed(ask(target, *fields, **rest))
  end

  def test_the_request_line_reaches_the_application_as_it_was_sent
    strings = env_of("/env/a%20b/%2e%2e//c?x=1&y=%26&")["strings"]
    assert_equal ["GET", "", "/env/a%20b/%2e%2e//c", "x=1&y=%26&", Over.protocol],
                 strings.values_at("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING",
                                   "SERVER_PROTOCOL")
  end

  def test_an_empty_query_is_an_empty_string
    assert_equal "", env_of("/env")["strings"]["QUERY_STRING"]
    assert_equal "", env_of("/env?")["strings"]["QUERY_STRING"]
    assert_equal "a?b", env_of("/env?a?b")["strings"]["QUERY_STRING"]
  end

  def test_the_server_is_named_by_the_host_field
    strings = env_of["strings"]
    port = { "http" => "80", "https" => "443" }.fetch(Over.scheme)
    assert_equal ["test", port, "test", Over.scheme],
                 strings.values_at("SERVER_NAME", "SERVER_PORT", "HTTP_HOST", "rack.url_scheme")
  end

  # RFC 9112 section 3.3; Rack 3.1 SPEC: the two complete the URL.
  def test_without_a_host_the_server_is_named_by_the_port_it_was_reached_at
    only_over :plain, :tls, "HTTP/1.0"
    response = connect do |client|
      client.write("GET /env HTTP/1.0\r\n\r\n")
      client.response(version: "1.0")
    end
    strings = parsed(response)["strings"]
    port = URI(server.url).port.to_s
    assert_includes %w[127.0.0.1 localhost], strings["SERVER_NAME"]
    assert_equal [port, "HTTP/1.0"], strings.values_at("SERVER_PORT", "SERVER_PROTOCOL")
    refute_includes strings.keys, "HTTP_HOST"
  end

  def test_the_client_is_named_by_its_address
    assert_equal "127.0.0.1", env_of["strings"]["REMOTE_ADDR"]
    assert_equal "127.0.0.1", env_of("/env", "X-Forwarded-For: 10.9.8.7")["strings"]["REMOTE_ADDR"]
  end

  def test_content_length_and_type_have_no_prefix
    strings = env_of("/env", "Content-Type: text/x; a=b", method: "POST", body: "abcde")["strings"]
    assert_equal %w[5 text/x;\ a=b], strings.values_at("CONTENT_LENGTH", "CONTENT_TYPE")
    assert_empty strings.keys & %w[HTTP_CONTENT_LENGTH HTTP_CONTENT_TYPE]
  end

  def test_a_get_has_no_content_length_or_type
    assert_empty env_of["strings"].keys &
                 %w[CONTENT_LENGTH CONTENT_TYPE HTTP_CONTENT_LENGTH HTTP_CONTENT_TYPE]
  end

  def test_a_chunked_body_arrives_decoded
    body = "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    seen = env_of("/env", "Transfer-Encoding: chunked", method: "POST", body: body)
    assert_equal "abcde", seen["body"]
    assert_includes [nil, "5"], seen["strings"]["CONTENT_LENGTH"]
  end

  def test_field_names_become_keys
    fields = ["X-Some-Thing: 1", "x-lower: 2", "ACCEPT: 3", "X-Empty:", "X-Trim: \t a b \t"]
    strings = env_of("/env", *fields)["strings"]
    keys = %w[HTTP_X_SOME_THING HTTP_X_LOWER HTTP_ACCEPT HTTP_X_EMPTY HTTP_X_TRIM]
    assert_equal ["1", "2", "3", "", "a b"], strings.values_at(*keys)
  end

  def test_fields_sent_more_than_once_are_joined # RFC 9110 section 5.3; RFC 6265 section 5.4
    fields = ["X-Many: a", "Cookie: a=1", "X-Many: b", "Cookie: b=2", "Accept: x", "Accept: y"]
    strings = env_of("/env", *fields)["strings"]
    joined = strings.values_at("HTTP_X_MANY", "HTTP_ACCEPT", "HTTP_COOKIE")
    assert_equal ["a, b", "x, y", "a=1; b=2"], joined.map { |value| value.gsub(/,\s*/, ", ") }
  end

  # Decision 0002, row 51.
  def test_a_field_whose_name_has_an_underscore_is_dropped_and_the_log_says_so_once
    strings = env_of("/env/dropped", "X_Api_Key: 1", "X-Api-Name: 2")["strings"]
    assert_equal [nil, "2"], strings.values_at("HTTP_X_API_KEY", "HTTP_X_API_NAME")
    env_of("/env", "x_api_key: 1")
    dropped, like = %w[X_Api_Key X-Api-Key].map { |name| Over.field(name) }
    assert_equal 1, logged("its field #{dropped} is dropped, since #{like} would have the same key")
    assert_equal 1, server.stderr.scan(/its field x_api_key/i).size
    assert_match(%r{GET /env/dropped \([^)]+\): its field #{dropped}}, server.stderr)
  end

  def test_keys_of_rack_are_there
    seen = env_of
    others = seen["others"].keys + seen["strings"].keys
    %w[rack.input rack.errors rack.url_scheme rack.response_finished].each do |key|
      assert_includes others, key
    end
    assert seen["finished"], "rack.response_finished is no Array"
    refute seen["frozen"], "env is frozen"
  end

  def test_hijack_is_promised_only_where_it_is_given
    promised, callable = env_of["hijack"]
    assert_equal !!promised, callable
  end

  def test_no_key_holds_nil
    assert_empty env_of["others"].select { |key, type| type == "NilClass" && key != "rack.hijack?" }
  end

  def test_each_request_has_an_id
    first, second = Array.new(2) { env_of["strings"]["neverblock.request_id"] }
    assert_match(/\A[\w-]{1,128}\z/, first)
    refute_equal first, second
  end

  TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
  TRACEPARENT = "00-#{TRACE_ID}-00f067aa0ba902b7-01".freeze

  def test_the_trace_id_of_a_traceparent
    env = env_of("/env", "Traceparent:  #{TRACEPARENT} ")["strings"]
    assert_equal [TRACE_ID, TRACEPARENT], env.values_at("neverblock.trace_id", "HTTP_TRACEPARENT")
  end

  # W3C Trace Context, section 3.2.2.3: as if there were none. What was sent is the application's.
  def test_an_invalid_traceparent_has_no_trace_id
    zeros = "00-#{"0" * 32}-00f067aa0ba902b7-01"
    [TRACEPARENT.upcase, "#{TRACEPARENT}-x", "", zeros].each do |sent|
      env = env_of("/env", "Traceparent: #{sent}")["strings"]
      assert_equal sent, env["HTTP_TRACEPARENT"]
      refute env.key?("neverblock.trace_id"), sent
    end
  end

  def test_two_traceparents_are_none
    env = env_of("/env", "Traceparent: #{TRACEPARENT}", "Traceparent: #{TRACEPARENT}")["strings"]
    refute env.key?("neverblock.trace_id")
    refute env_of["strings"].key?("neverblock.trace_id")
  end

  def test_a_request_id_that_fits_is_kept
    ["abc_DEF-123", "a" * 128].each do |id|
      assert_equal id, env_of("/env", "X-Request-Id: #{id}")["strings"]["neverblock.request_id"]
    end
  end

  def test_a_request_id_that_does_not_fit_is_replaced
    ["a b", "a\"b", "a" * 129, "a;b", "\xe9".b].each do |id|
      seen = env_of("/env", "X-Request-Id: ".b + id)["strings"]["neverblock.request_id"]
      assert_match(/\A[\w-]{1,128}\z/, seen)
      refute_equal id.inspect[1..-2], seen
    end
  end

  def test_what_an_application_does_to_its_env_stays_in_that_request
    connect do |client|
      3.times do
        client.get("/env_leak")
        assert_equal({ "found" => false }, parsed(client.response))
      end
    end
  end

  def test_the_input_reads_rewinds_and_ends_as_an_io_does # Rack 3.1 SPEC, "The Input Stream"
    seen = parsed(ask("/input", method: "POST", body: "abcde\nline two\nthree"))
    assert_equal ["abcde\nline two\nthree", "ASCII-8BIT", "abc", "de", "\n"],
                 seen.values_at("all", "encoding", "start", "buffer", "line")
    assert_equal "line two\nthree", seen["rest"].join
    assert_equal "abcde\nline two\nthree", seen["again"]
    assert_equal ["", nil, nil], seen["at_end"]
  end

  def test_a_request_without_a_body_has_an_empty_input
    assert_equal "", env_of["body"]
    assert_equal "", env_of("/env", "Content-Length: 0", method: "POST")["body"]
  end

  def test_what_is_written_to_rack_errors_is_logged_once
    tag = new_tag
    assert_equal 200, ask("/errors?tag=#{tag}").status
    assert_equal 1, logged("puts of #{tag}")
    assert_equal 1, logged("write of #{tag}")
  end
end
