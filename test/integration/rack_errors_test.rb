# frozen_string_literal: true

# What becomes of an application that fails: the client gets a 500 that tells nothing, the log one
# entry that tells all, the server goes on.

require_relative "../support/server_process_case"

class RackErrorsTest < ServerProcessCase
  def test_an_exception_is_a_500_and_one_log_entry_with_its_trace
    tag = new_tag
    response = ask("/failing?tag=#{tag}")
    assert_equal 500, response.status
    refute_includes response.body, tag, "the client is told what only the log should say"
    assert_equal 1, logged("failure of #{tag}")
    lines = server.stderr.lines.drop_while { |line| !line.include?("failure of #{tag}") }
    entry = lines.first(40).join
    assert_includes entry, "ArgumentError"
    assert_match(/app_rack\.rb:\d+/, entry)
  end

  def test_an_exception_that_is_no_standard_error_is_a_500_too
    tag = new_tag
    assert_equal 500, ask("/failing_hard?tag=#{tag}").status
    assert_equal 1, logged("failure of #{tag}")
  end

  def test_an_exception_is_told_whatever_its_encoding_and_its_cause_are
    %w[failing_in_utf failing_with_its_cause].each do |route|
      tag = new_tag
      assert_equal 500, ask("/#{route}?tag=#{tag}").status
      server.await_stderr(%r{/#{route} \(.*\) failed: ArgumentError: failure of .*#{tag}$})
    end
  end

  def test_an_exception_that_cannot_be_told_is_one_line_with_its_request_and_class
    assert_equal 500, ask("/failing_with_its_trace").status
    server.await_stderr(%r{error: .*GET /failing_with_its_trace failed: ArgumentError; })
    assert_match(/failed: ArgumentError; it cannot be told: that raised NoMethodError$/,
                 server.stderr)
  end

  def test_a_status_that_is_no_number_is_named_as_the_status
    { "text" => "\"ok\"", "nil" => "NilClass", "large" => "Integer" }.each do |odd, shown|
      assert_equal 500, ask("/odd_status?status=#{odd}&tag=#{new_tag}").status
      server.await_stderr(/status is 200 to 599, or 101; the application gave #{shown}$/)
    end
    assert_equal 201, ask("/odd_status?status=digits&tag=#{new_tag}").status
  end

  def test_a_connection_that_was_hijacked_is_closed_when_its_application_raises
    only_over :plain, :tls, "HTTP/2 has no hijack"
    tag = new_tag
    connect do |client|
      client.get("/failing_hijacked?tag=#{tag}")
      text, ending = client.take_to_end
      assert_equal ["HTTP/1.1 200 OK\r\n\r\nraw", :eof], [text, ending]
    end
    server.await_stderr(/failure of #{tag}/)
  end

  %w[exits interrupted].each do |route|
    define_method("test_an_application_that_#{route}_takes_no_other_request_with_it") do
      assert_equal 500, ask("/#{route}").status
      assert_equal 200, ask("/").status
    end
  end

  def test_a_stack_that_is_too_deep_is_a_500
    assert_equal 500, ask("/too_deep").status
    server.await_stderr(/SystemStackError|stack level too deep/)
    assert_equal 200, ask("/").status
  end

  def test_a_throw_nobody_catches_is_a_500
    tag = new_tag
    assert_equal 500, ask("/thrown?tag=#{tag}").status
    assert_operator logged("thrown_#{tag}"), :>=, 1
  end

  %w[returns_nil returns_two returns_bad_body returns_bad_headers].each do |route|
    define_method("test_a_response_that_is_none_is_a_500_#{route}") do
      assert_equal 500, ask("/#{route}").status
      assert_equal 200, ask("/").status
    end
  end

  def test_the_connection_is_usable_or_closed_as_announced_after_a_500
    connect do |client|
      client.get("/failing?tag=#{new_tag}")
      response = client.response
      if response.announces_close?
        assert_includes %i[eof reset], client.ending
      else
        client.get("/")
        assert_equal "hello", client.response.body
      end
    end
  end

  def test_a_header_with_line_ends_is_refused_with_500_and_logged_once # RFC 9110 section 5.5
    tag = new_tag
    response = ask("/injection?tag=#{tag}")
    assert_equal 500, response.status
    refute_includes response.body, "Injected"
    server.await_stderr(/x-bad/)
    assert_equal 200, ask("/").status
    assert_equal 1, server.stderr.lines.grep(/x-bad/).size, server.stderr
    server.stderr.each_line do |line|
      refute line.start_with?("Injected"), "a line of the log was forged"
    end
  end

  def test_header_arrays_become_lines # Rack 3.1 SPEC, "The Headers"
    assert_equal %w[a=1 b=2], ask("/header_array").all("set-cookie")
  end

  # Rack 2.2 SPEC, "The Headers"; the lines are checked one by one.
  def test_newlines_in_a_header_of_rack_2_become_lines
    response = ask("/header_lines")
    assert_includes [[500, []], [200, %w[a=1 b=2]]], [response.status, response.all("set-cookie")]
  end

  def test_rack_headers_are_not_sent # Rack 3.1 SPEC: names that start with "rack." are the server's
    response = ask("/rack_headers")
    assert_nil response["rack.private"]
    refute_includes response.body, "secret"
    assert_includes [[200, "1"], [500, nil]], [response.status, response["x-seen"]]
  end
end

# A log nobody reads costs lines, never time.
class RackErrorsLogTest < Minitest::Test
  # Each request writes ten kilobytes: four megabytes in all. The pipe holds 64 KB, the log's buffer
  # one megabyte.
  REQUESTS = 400
  APP = <<~'RACKUP'
    run(lambda do |env|
      env["rack.errors"].puts("line #{"x" * 10_000}")
      [200, { "content-type" => "text/plain" }, ["hello"]]
    end)
  RACKUP

  def setup
    skip "Puma writes its log itself" unless ServerProcess.server_name == "neverblock"
    @directory = Dir.mktmpdir("neverblock-log")
    @fifo = File.join(@directory, "log")
    File.mkfifo(@fifo)
    @reader = File.open(@fifo, File::RDWR | File::NONBLOCK)
  end

  def teardown
    @reader&.close
    FileUtils.rm_rf(@directory) if @directory
  end

  def test_a_log_whose_reader_has_stopped_makes_no_request_wait
    wrap = ["sh", "-c", "exec \"$@\" 2>#{@fifo}", "sh"]
    options = ServerProcess.one_process("lines longer than a pipe takes in one piece")
    ServerProcess.run(APP, wrap: wrap, options: options) do |server|
      Wire::Client.open(server.url) do |client|
        REQUESTS.times { client.get("/") && assert_equal(200, client.response.status) }
      end
      text = drain_log { |so_far| so_far.include?("log lines dropped") }
      assert_match(/\d+ log lines dropped/, text)
      assert_operator text.scan(/^line x{10000}$/).size, :<, REQUESTS
      refute_match(/^line x{1,9999}$/, text, "half a line was written")
    end
  end

  # Reads until the block is content.
  def drain_log
    text = +""
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Patience::SECONDS
    until yield(text) || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
      part = @reader.wait_readable(0.1) && @reader.read_nonblock(65_536, exception: false)
      text << part if part.is_a?(String)
    end
    text
  end
end
