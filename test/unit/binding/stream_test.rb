# frozen_string_literal: true

require_relative "binding_case"

# Tests bodies that respond to call (Rack SPEC 3.1, "Streaming Body"). What is written leaves at
# once, and a slow client parks the writer. The client's end, an error or a stream kept too long
# costs that response only.
class StreamTest < BindingCase
  EVENTS = { "content-type" => "text/event-stream" }.freeze
  CHUNK = ("x" * 65_536).freeze

  # A streaming body whose close is counted.
  class Body
    attr_reader :closed

    def initialize(&block)
      @block = block
      @closed = 0
    end

    def call(stream) = @block.call(stream)
    def close = @closed += 1
  end

  # Serves the block as the body of every path but /fine.
  def stream(headers = PLAIN, **settings, &block)
    @bodies = []
    serve(nil, **settings) do |env|
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      [200, headers, Body.new { |out| block.call(out, env) }.tap { |body| @bodies << body }]
    end
  end

  def assert_closed_once
    within { sleep(0.001) until @bodies.all? { |body| body.closed == 1 } && running.zero? }
  end

  # The client has not taken all that was written.
  def behind? = @server.stats[:response_bytes].positive?

  def running = executors.sum(&:running)

  def test_what_is_written_is_the_body
    stream { |out, _| out.write("a", :b, 3).then { |bytes| out << bytes << nil << "end" } }
    assert_equal "ab33end", ask.body
    assert_closed_once
    assert_serves
  end

  def test_in_http_1_0_the_connection_ends_with_the_body
    stream { |out, _| out << "abc" }
    response = client do |wire|
      wire.get("/", version: "1.0")
      wire.response(version: "1.0")
    end
    assert_equal "abc", response.body
    assert_nil response["transfer-encoding"]
  end

  def test_each_comes_before_call # Rack SPEC 3.1: a body that responds to both is an enumerable one
    body = Body.new { |out| out << "by call" }
    body.define_singleton_method(:each) { |&block| block.call("by each") }
    serve { |_env| [200, PLAIN, body] }
    assert_equal "by each", ask.body
  end

  def test_a_body_is_not_called_where_none_may_be_sent
    called = 0
    stream { |_out, _| called += 1 }
    response = client do |wire|
      wire.write("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n")
      wire.response(method: "HEAD")
    end
    assert_equal 200, response.status
    assert_closed_once
    assert_equal 0, called
  end

  # The gate opens when the client has what was written before it.
  def test_what_is_written_arrives_while_the_body_goes_on
    gate = Queue.new
    stream do |out, _|
      3.times { |number| (out << "part #{number};") && gate.pop }
    end
    client do |wire|
      wire.get("/")
      3.times do |number|
        wire.await_bytes("part #{number};")
        gate << true
      end
      assert_equal "part 0;part 1;part 2;", wire.response.body
    end
  end

  def test_the_head_arrives_before_anything_is_written
    gate = Queue.new
    stream { |out, _| gate.pop && out << "end" }
    client do |wire|
      wire.get("/")
      wire.await_bytes("\r\n\r\n")
      gate << true
      assert_equal "end", wire.response.body
    end
  end

  def test_the_head_of_an_event_stream_by_each_arrives_before_its_first_event
    gate = Queue.new
    serve { |_env| [200, EVENTS, Enumerator.new { |out| gate.pop && out << "data: 1\n\n" }] }
    client do |wire|
      wire.get("/")
      wire.await_bytes("\r\n\r\n")
      gate << true
      assert_equal "data: 1\n\n", wire.response.body
    end
  end

  def test_the_request_is_read_from_the_stream
    stream { |out, _| out << out.read(2) << "|" << out.read << "|" << out.read(1).inspect }
    response = client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nabcde")
      wire.response(method: "POST")
    end
    assert_equal "ab|cde|nil", response.body
  end

  def test_the_halves_of_a_stream_close_apart
    seen = []
    stream do |out, _|
      out << "a"
      seen << out.closed? << out.close_read << out.closed?
      seen << (out.read rescue $!.class) # rubocop:disable Style/RescueModifier
      seen << (out.flush.equal?(out)) << out.close_write << out.closed? << out.close
      seen << (out.write("b") rescue $!.class) # rubocop:disable Style/RescueModifier
      seen << (out.flush rescue $!.class) # rubocop:disable Style/RescueModifier
    end
    assert_equal "a", ask.body
    assert_closed_once
    assert_equal [false, nil, false, IOError, true, nil, true, nil, IOError, IOError], seen
  end

  def test_the_body_may_go_on_when_its_stream_is_closed
    gate = Queue.new
    stream { |out, _| (out << "all") && out.close && gate.pop || gate.pop }
    assert_equal "all", ask.body
    assert_serves
    gate << true
    assert_closed_once
  end

  def test_a_stream_used_when_its_response_is_over
    kept = nil
    stream { |out, _| (kept = out) << "a" }
    assert_equal "a", ask.body
    assert_closed_once
    assert_predicate kept, :closed?
    assert_nil kept.close
    [-> { kept << "b" }, -> { kept.read }, -> { kept.flush }].each do |use|
      assert_raises(IOError, &use)
    end
    assert_serves
  end

  def test_no_stream_is_made_by_hand
    assert_raises(TypeError, NoMethodError) { NeverBlock::Stream.new }
    assert_raises(TypeError, NoMethodError) { NeverBlock::Stream.allocate }
  end

  def test_an_error_cuts_the_response_and_is_one_entry
    stream { |out, _| (out << "begun") && raise("no") }
    response = client { |wire| wire.get("/") && wire.response_as_far_as_it_comes }
    assert_predicate response, :cut?
    assert_equal "begun", response.body
    assert_closed_once
    assert_equal 1, logged.scan(/failed: RuntimeError: no/).size
    assert_serves
  end

  # What was announced and what was written differ: the client must not take it for whole.
  def test_a_length_that_was_announced_is_kept
    stream({ "content-length" => "5" }) { |out, env| out << env["QUERY_STRING"] && out.close }
    assert_equal "abcde", ask("/?abcde").body
    assert_predicate client { |wire| wire.get("/?abc") && wire.response_as_far_as_it_comes }, :cut?
    assert_closed_once
    assert_match(/the body has 3 bytes, its Content-Length said 5/, logged)
    assert_serves
  end

  def test_a_stream_is_written_on_its_own_thread
    stream do |out, _|
      out << "a"
      Thread.new do
        Thread.current.report_on_exception = false
        out << "b"
      end.join
    end
    assert_predicate client { |wire| wire.get("/") && wire.response_as_far_as_it_comes }, :cut?
    assert_match(/on the thread its request runs on/, logged)
  end

  # --- back-pressure ---

  def test_a_writer_waits_for_a_slow_client_and_others_are_served
    written = 0
    stream { |out, _| 400.times { (out << CHUNK) && written += 1 } }
    client(receive_buffer_bytes: 4096) do |wire|
      wire.get("/")
      within { sleep(0.001) until behind? }
      assert_serves
      assert_operator written, :<, 400
      assert_equal 400 * CHUNK.bytesize, wire.response.body.bytesize
    end
    assert_closed_once
    assert_equal 400, written
  end

  def test_an_interrupted_write_that_the_body_overlooks_cuts_the_response
    stream do |out, _|
      loop { Fiber.scheduler.timeout_after(0.02, EOFError) { out << CHUNK } }
    rescue EOFError
      out.close
    end
    client(receive_buffer_bytes: 4096) do |wire|
      wire.get("/")
      within { sleep(0.002) until logged.include?("interrupted while it wrote") }
      assert_predicate wire.response_as_far_as_it_comes, :cut?
    end
    assert_closed_once
    assert_serves
  end

  # --- clients that leave ---

  def test_the_writer_of_a_client_that_is_gone_ends
    ended = Queue.new
    stream do |out, _|
      loop { out << CHUNK }
    ensure
      ended << [$!.class, out.closed?]
    end
    wire = client(receive_buffer_bytes: 4096)
    wire.get("/")
    within { sleep(0.001) until behind? }
    wire.abort
    assert_equal [NeverBlock::ClientGone, true], within { ended.pop }
    assert_closed_once
    refute_match(/error/, logged)
    assert_serves
  end

  def test_the_end_of_an_event_streams_client_is_seen_without_writing
    ended = Queue.new
    stream(EVENTS) do |out, _|
      out << "data: 1\n\n"
      sleep(0.001) until out.closed?
      out << "data: 2\n\n"
    ensure
      ended << $!.class
    end
    wire = client
    wire.get("/")
    wire.await_bytes("data: 1")
    wire.close
    assert_equal NeverBlock::ClientGone, within { ended.pop }
    assert_closed_once
    refute_match(/error/, logged)
  end

  # Nothing is written, and nothing would wake the body.
  def test_what_an_event_stream_waits_for_ends_when_its_client_leaves
    ended = Queue.new
    stream(EVENTS) do |out, _|
      out << "data: 1\n\n"
      Queue.new.pop
    ensure
      ended << [$!.class, out.closed?]
    end
    %i[close abort].each do |way|
      wire = client
      wire.get("/")
      wire.await_bytes("data: 1")
      wire.public_send(way)
      assert_equal [NeverBlock::ClientGone, true], within { ended.pop }
    end
    assert_closed_once
    refute_match(/error/, logged)
    assert_serves
  end

  def test_an_event_stream_whose_client_left_before_it_began_is_not_called
    gate = Queue.new
    called = 0
    body = Body.new { called += 1 }
    serve do |env|
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      gate.pop && [200, EVENTS, body]
    end
    wire = client
    wire.get("/")
    within { sleep(0.001) until running == 1 }
    wire.close
    2.times { assert_serves } # the second comes behind the news
    gate << true
    within { sleep(0.001) until running.zero? }
    assert_equal [0, 1], [called, body.closed]
    refute_match(/error/, logged)
  end

  # RFC 9112 section 9.6: a client may finish sending and still read.
  def test_a_half_closed_client_of_any_other_stream_gets_all_of_it
    gate = Queue.new
    stream { |out, _| (out << "first;") && gate.pop && out << "last" }
    client do |wire|
      wire.get("/")
      wire.await_bytes("first;")
      wire.shutdown_write
      assert_serves
      gate << true
      assert_equal "first;last", wire.response.body
    end
  end
end
