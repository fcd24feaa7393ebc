# frozen_string_literal: true

require_relative "binding_case"
require "digest/sha2" # loaded by the first use otherwise, which is not safe on threads
require "json"
require "stringio"

# Tests NeverBlock::StreamInput: a request body that is read while it comes (a route with
# `input: :stream`).
class InputTest < BindingCase
  WINDOW = 131_072 # NB_INPUT_WINDOW_BYTES
  ROUTES = [["/*", { input: :stream }]].freeze
  SINK = ->(env) { [200, {}, [env["rack.input"].read.bytesize.to_s]] }

  # --- what it reads ---

  # One script of calls runs on a stream whose parts were cut at random and on a StringIO with the
  # same bytes.
  OPERATIONS = [[:read, 0], [:read, 1], [:read, 7], [:read, 100], [:read, 70_000], [:gets],
                [:each_line], [:eof?], [:read_into, 50], [:readpartial_all], [:read]].freeze

  def test_it_reads_what_a_string_io_would_however_the_parts_were_cut
    random = Random.new(7)
    serve_input { |input, env| run_script(input, JSON.parse(env["HTTP_SCRIPT"])).inspect }
    25.times do
      body = Array.new(random.rand(2_000)) {
        random.rand(8).zero? ? "\n" : "x\xFF"[random.rand(2)].b
      }.join.b
      script = Array.new(random.rand(1..12)) { OPERATIONS.sample(random: random) }
      expected = run_script(StringIO.new(body), JSON.parse(JSON.generate(script)))
      answer = chunked(cut(body, random), "Script: #{JSON.generate(script)}")
      assert_equal expected.inspect, answer.body, script.inspect
    end
  end

  def test_each_read_is_binary_and_a_buffer_is_filled_in_place
    serve_input do |input, _env|
      buffer = +"before"
      same = input.read(3, buffer).equal?(buffer)
      rest = input.readpartial(100, other = +"")
      ending = [input.read(1, buffer), buffer, input.read, begin
        input.readpartial(1)
      rescue
        $!.class
      end]
      [same, rest.equal?(other), rest, *ending, rest.encoding, input.external_encoding].inspect
    end
    read = [true, true, "de", nil, "", "", EOFError, Encoding::BINARY, Encoding::BINARY]
    assert_equal read.inspect, post("abcde").body
  end

  def test_it_is_an_input_stream_of_rack_3_that_cannot_be_rewound
    serve_input do |input, env|
      refusals = [-> { input.read(-1) }, -> { input.read("x") },
                  -> { NeverBlock::StreamInput.new }, -> { NeverBlock::StreamInput.allocate },
                  -> { input.rewind }]
      errors = refusals.map { |call|
        begin
          call.call
        rescue
          $!.class
        end
      }
      [errors, input.respond_to?(:rewind),
       env.values_at("CONTENT_LENGTH", "HTTP_TRANSFER_ENCODING"), input.each.first,
       input.closed?].inspect
    end
    errors = [ArgumentError, TypeError, TypeError, TypeError, NoMethodError]
    assert_equal [errors, false, ["3", nil], "abc", false].inspect, post("abc").body
    assert_equal [errors, false, [nil, "chunked"], "abc", false].inspect, chunked(["abc"]).body
  end

  def test_one_that_is_closed_reads_nothing_more
    serve_input { |input, _env|
      [input.read(1), input.close, input.closed?, begin
        input.read
      rescue
        $!.class
      end, begin
        input.gets
      rescue
        $!.class
      end, input.inspect].inspect
    }
    assert_equal ["a", nil, true, IOError, IOError, "#<NeverBlock::StreamInput closed>"].inspect,
                 post("abc").body
  end

  def test_a_request_without_a_body_has_the_input_of_all_others
    serve_input { |input, _env| "#{input.class} #{input.read.inspect}" }
    assert_equal 'NeverBlock::NoInput ""', ask.body
  end

  # --- when ---

  def test_the_application_runs_before_the_body_comes_and_sees_each_part_as_it_does
    seen = Queue.new
    serve_input do |input, _env|
      seen << :called
      3.times { seen << input.readpartial(100) }
      input.eof?.to_s
    end
    client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\n")
      assert_equal :called, within { seen.pop }
      %w[ab cd ef].each do |part|
        wire.write(part)
        assert_equal part, within { seen.pop }
      end
      assert_equal "true", wire.response.body
    end
  end

  def test_a_reader_that_waits_keeps_nobody_from_being_served
    serve(routes: [["/up", { input: :stream }]]) do |env|
      env["PATH_INFO"] == "/up" ? SINK.call(env) : [200, {}, ["fine"]]
    end
    client do |wire|
      wire.write("POST /up HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\nabc")
      5.times { assert_serves }
      wire.write("def")
      assert_equal "6", wire.response.body
    end
  end

  def test_what_is_not_read_holds_the_client_back
    go = Queue.new
    serve_input { |input, _env| go.pop && digest(input) }
    body = Random.new(1).bytes(8_000_000)
    client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: #{body.bytesize}\r\n\r\n")
      sender = Thread.new { wire.write(body) }
      within { Thread.pass until sender.stop? } # it waits for the server
      go << true
      assert within { sender.value }
      assert_equal "8000000 #{Digest::SHA256.hexdigest(body)}", wire.response.body
    end
  end

  def test_bodies_of_every_size_arrive_whole_and_the_connection_goes_on
    serve_input { |input, _env| digest(input) }
    client do |wire|
      [1, 16_383, 16_384, 16_385, WINDOW - 1, WINDOW, WINDOW + 1, 1_000_000].each do |size|
        body = Random.new(size).bytes(size)
        wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: #{size}\r\n\r\n#{body}")
        assert_equal "#{size} #{Digest::SHA256.hexdigest(body)}", wire.response.body
      end
    end
  end

  def test_two_executors_read_side_by_side
    serve_input(executors: 2) { |input, _env| digest(input) }
    bodies = Array.new(6) { |seed| Random.new(seed).bytes(700_000) }
    answers = bodies.map { |body| Thread.new { post(body).body } }
    assert_equal(bodies.map { |body| "700000 #{Digest::SHA256.hexdigest(body)}" },
                 answers.map { |thread| within { thread.value } })
  end

  def test_every_object_survives_a_collection_at_any_point
    serve_input do |input, _env|
      GC.stress = true
      read = [input.gets, input.read(5), input.read(100)]
      GC.stress = false
      GC.compact
      read.inspect
    ensure
      GC.stress = false
    end
    body = "line\n12345#{"rest" * 25}"
    assert_equal ["line\n", "12345", "rest" * 25].inspect,
                 within(60) { chunked(body.scan(/.{1,50}/m)).body }
  end

  # --- bodies that cannot be had ---

  def test_a_client_that_leaves_is_an_error_where_its_body_is_read
    errors = Queue.new
    called = Queue.new
    serve_input { |input, _env| called << true && failing(errors) { input.read } }
    { reset: NeverBlock::ClientGone, eof: NeverBlock::ClientGone }.each do |how, error|
      client do |wire|
        wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\nabc")
        within { called.pop } # a reset takes back what was not read yet
        how == :eof ? wire.socket.close_write : reset(wire)
        assert_equal [error, "the client left before its request body was whole"],
                     within { errors.pop }
      end
    end
    assert_empty logged
  end

  def test_a_body_past_the_limit_is_413_and_an_error_where_it_is_read
    errors = Queue.new
    serve_input(body_bytes_max: 10) { |input, _env| failing(errors) { input.read } }
    client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n" \
                 "5\r\nabcde\r\n6\r\n")
      assert_equal 413, wire.response.status
    end
    assert_equal [NeverBlock::InputError,
                  "the request body is larger than limits { body_bytes }; " \
                  "its client is answered 413, unless a response had begun"],
                 within { errors.pop }
    assert_empty logged
  end

  def test_what_came_before_the_fault_is_read_first
    errors = Queue.new
    serve_input do |input, _env|
      errors << input.read(5)
      failing(errors) { input.read }
    end
    client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n" \
                 "5\r\nabcde\r\n")
      assert_equal "abcde", within { errors.pop }
      wire.write("x\r\n")
      assert_equal 400, wire.response.status
    end
    assert_equal NeverBlock::InputError, within { errors.pop }.first
  end

  def test_a_server_that_is_cut_ends_the_read
    errors = Queue.new
    started = Queue.new
    serve_input do |input, _env|
      started << true
      failing(errors) { input.read }
    end
    client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\nabc")
      within { started.pop }
      assert @server.stop_now(timeout: SECONDS)
      assert_equal NeverBlock::ClientGone, within { errors.pop }.first
    end
  end

  # --- used wrongly ---

  def test_it_is_read_on_its_own_thread_by_one_fiber_while_the_request_lasts
    kept = nil
    serve_input do |input, _env|
      kept = input
      other = Thread.new {
        begin
          input.read(1)
        rescue
          $!
        end
      }.value
      Fiber.schedule {
        begin
          input.read(3)
        rescue
          nil
        end
      }
      second = begin
        input.read(1)
      rescue
        $!
      end
      [other, second].map(&:message).inspect
    end
    client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\n")
      assert_equal ["a streamed request body is read on the thread its request runs on",
                    "a request body is read by one fiber at a time"].inspect, wire.response.body
    end
    assert_match(/is over/, assert_raises(NeverBlock::Error) { kept.read }.message)
  end

  def test_a_reader_left_behind_is_woken_when_the_request_is_over
    errors = Queue.new
    serve_input do |input, _env|
      Fiber.schedule {
        begin
          failing(errors) { input.read }
        rescue
          nil
        end
      }
      "left"
    end
    client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\n")
      assert_equal "left", wire.response.body
      assert_equal [NeverBlock::Error, "the request whose body this is, is over"],
                   within { errors.pop }
    end
  end

  def test_after_the_response_nothing_is_waited_for
    errors = Queue.new
    serve_input do |input, env|
      env["rack.response_finished"] << ->(*) { failing(errors) { input.read } }
      "early"
    end
    client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\n")
      assert_equal "early", wire.response.body
      assert_equal [NeverBlock::Error,
                    "the response is over: no more is read of the request body"],
                   within { errors.pop }
    end
  end

  def test_after_a_hijack_the_rest_is_read_from_the_socket
    serve_input do |input, env|
      input.read(3)
      socket = env["rack.hijack"].call
      error = begin
        input.read
      rescue
        $!
      end
      socket.write("#{error.class} #{error.message}"[/.*hijacked/])
      socket.close
      ""
    end
    client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\nabc")
      assert_equal "NeverBlock::Error the connection was hijacked", within { wire.socket.read }
    end
  end

  def test_a_deadline_ends_a_read_and_the_next_request_is_served
    serve_input { |input, _env|
      begin
        NB.deadline(0.01) { input.read }
      rescue
        $!.class.to_s
      end
    }
    client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\na")
      assert_equal "NeverBlock::DeadlineExceeded", wire.response.body
      wire.write("bcPOST / HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n")
      assert_equal "", wire.response.body
    end
  end

  # What a StringIO that is at its end says.
  def test_a_request_without_a_body_has_an_input_like_any_other
    serve do |env|
      input = env["rack.input"]
      failed = %i[readpartial sysread readline].map do |name|
        input.public_send(name, *(1 unless name == :readline))
      rescue EOFError
        name
      end
      [200, {}, [[input.string, input.getc, input.getbyte, input.readlines, failed, input.binmode?,
                  input.sync, input.flush.equal?(input), input.fsync].inspect]]
    end

    assert_equal '["", nil, nil, [], [:readpartial, :sysread, :readline], true, true, true, nil]',
                 ask.body
  end

  private

  def serve_input(**settings)
    serve(routes: ROUTES, **settings) { |env| [200, {}, [yield(env["rack.input"], env)]] }
  end

  def post(body)
    client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
      wire.response
    end
  end

  def chunked(parts, *fields)
    client do |wire|
      head = ["POST / HTTP/1.1", "Host: test", "Transfer-Encoding: chunked", *fields]
      wire.write("#{head.join("\r\n")}\r\n\r\n")
      parts.each { |part| wire.write("#{part.bytesize.to_s(16)}\r\n".b << part << "\r\n") }
      wire.write("0\r\n\r\n")
      wire.response
    end
  end

  def cut(body, random)
    parts = []
    parts << body.slice!(0, random.rand(1..300)) until body.empty?
    parts
  end

  def run_script(input, script)
    script.map do |name, argument|
      case name
      when "read" then argument ? input.read(argument) : input.read
      when "each_line" then [input.each.first(2)]
      when "read_into" then [input.read(argument, into = +"x"), into]
      when "readpartial_all" then input.eof? ? :end : input.readpartial(1)
      else input.public_send(name)
      end
    end
  end

  def digest(input)
    sum = Digest::SHA256.new
    bytes = 0
    while (part = input.read(10_000))
      bytes += part.bytesize
      sum << part
    end
    "#{bytes} #{sum}"
  end

  def failing(errors)
    yield
  rescue StandardError => e
    errors << [e.class, e.message]
    raise
  end

  def reset(wire)
    wire.socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
    wire.socket.close
  end
end
