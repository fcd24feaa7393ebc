# frozen_string_literal: true

require_relative "binding_case"
require "open3"
require "rbconfig"

# Tests fibers that an application schedules in its request and that write its response, read its
# body or ask for its connection. None outlives the response in a wait that nothing ends, and none
# meets another request. What ends one of them leaves the others their own ends.
class StreamFibersTest < BindingCase
  EVENTS = { "content-type" => "text/event-stream" }.freeze
  CHUNK = ("x" * 65_536).freeze
  SLICE = ("x" * 16_384).freeze # goes in one part
  RING_BYTES = 1_048_576 # NB_RING_BYTES
  SHORT_MS = 200
  LET_GO = [NeverBlock::Error, "the response was ended while this fiber wrote it"].freeze
  # A StandardError does not end the fiber.
  Ended = Class.new(Exception) # rubocop:disable Lint/InheritException

  # Serves the block as the body of every path but /fine.
  def stream(headers = PLAIN, **settings)
    serve(nil, **settings) do |env|
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      [200, headers, ->(out) { yield(out, env) }]
    end
  end

  def running = executors.sum(&:running)

  # The client has not taken all that was written.
  def behind? = @server.stats[:response_bytes].positive?

  # A fiber of this thread that runs the block. It tells how the block ended, and once more from its
  # ensure.
  def child(told)
    Fiber.schedule do
      yield
      told << :returned
    rescue StandardError => e
      told << [e.class, e.message]
    ensure
      told << :out
    end
  end

  def assert_cut(wire)
    assert_predicate within { wire.response_as_far_as_it_comes }, :cut?
  end

  def assert_request_over
    within { sleep(0.001) until running.zero? }
    assert_serves
  end

  # --- a writer that is left behind ---

  # The body's call returns without a wait: the child waits for room in the response ring, or for
  # the client.
  def test_a_child_that_writes_when_call_returns_is_let_go
    told = Queue.new
    stream { |out, _| child(told) { loop { out << CHUNK } } }
    6.times do
      wire = client
      wire.get("/")
      assert_equal [LET_GO, :out], within { [told.pop, told.pop] }
      assert_cut(wire)
    end
    entry = "failed: NeverBlock::Error: the body's call was interrupted while it wrote"
    assert_equal 6, logged.scan(entry).size
    assert_request_over
  end

  def test_a_child_that_waits_for_a_slow_client_when_call_returns_is_let_go
    told = Queue.new
    gate = Queue.new
    stream { |out, _| child(told) { loop { out << CHUNK } } && gate.pop }
    alive = nil
    6.times do
      client(receive_buffer_bytes: 4096) do |wire|
        wire.get("/")
        within { sleep(0.001) until behind? }
        assert_empty told
        gate << true
        assert_equal [LET_GO, :out], within { [told.pop, told.pop] }
        assert_cut(wire)
      end
      assert_request_over
      GC.start
      fibers = ObjectSpace.each_object(Fiber).count(&:alive?)
      assert_operator fibers, :<=, (alive ||= fibers) + 2, "they pile up"
    end
  end

  # The child was woken, because its client has taken enough. Its turn comes after that of its
  # request's fiber.
  def test_a_child_that_may_write_on_when_call_returns_is_let_go
    told = Queue.new
    blocked = Queue.new
    reader, writer = IO.pipe
    stream(fibers: 1) do |out, env|
      next 100.times { out << CHUNK } if env["PATH_INFO"] == "/next"

      child(told) { loop { out << CHUNK } }
      blocked << true
      NeverBlock::Compat.blocking { reader.read(1) }
      sleep(0)
    end
    3.times do
      client do |wire|
        wire.get("/")
        within { blocked.pop }
        within { loop_turns until client_has_all?(wire) }
        writer << "x"
        assert_equal [LET_GO, :out], within { [told.pop, told.pop] }
        assert_cut(wire)
      end
      assert_equal 100 * CHUNK.bytesize, within { ask("/next").body.bytesize }
    end
  end

  # What is raised in the child when its request is over does not reach the next request of the
  # pool's fiber.
  def test_what_is_raised_later_in_a_child_does_not_disturb_the_next_request
    left = nil
    gate = Queue.new
    ends = Queue.new
    stream(fibers: 1) do |out, env|
      if env["PATH_INFO"] == "/next"
        Fiber.schedule { gate.pop && ends << Fiber.scheduler.raise_in(left, Ended) }
        next 200.times { out << CHUNK }
      end
      left = Fiber.schedule do
        begin
          loop { out << CHUNK }
        rescue NeverBlock::Error
          Queue.new.pop
        end
      rescue Ended
        ends << :ended
      end
    end
    assert_cut(client.tap { |wire| wire.get("/") })
    client(receive_buffer_bytes: 4096) do |wire|
      wire.get("/next")
      within { sleep(0.001) until behind? }
      gate << true
      assert_equal [true, :ended], within { [ends.pop, ends.pop] }
      assert_equal 200 * CHUNK.bytesize, within { wire.response.body.bytesize }
    end
    assert_request_over
  end

  # The response ring is full most of the time: whoever waits for room in it stands in a list.
  def test_children_that_are_left_behind_do_not_harm_the_writers_beside_them
    told = Queue.new
    stream(fibers: 64, slice_ms: nil) do |out, env| # a child writes before its parent goes on
      if env["PATH_INFO"] == "/innocent"
        next 40.times { |number| out << (number.even? ? "b" : "c") * 65_536 }
      end

      child(told) { loop { out << "A" * 1_000_000 } }
      sleep(0) if env["QUERY_STRING"] == "waits"
    end
    whole = Array.new(20) { |number| (number.even? ? "b" : "c") * 65_536 }.join * 2
    clients = Array.new(8) do |number|
      Thread.new do
        Array.new(8) do |round|
          next ask("/innocent").body == whole if number.even?

          client do |wire|
            wire.get(round.even? ? "/" : "/?waits")
            wire.response_as_far_as_it_comes.cut?
          end
        end
      end
    end
    assert_equal [true] * 64, within { clients.flat_map(&:value) }
    assert_request_over
    assert_equal({ LET_GO => 32, :out => 32 }, within { Array.new(64) { told.pop } }.tally)
  end

  def test_a_child_that_waits_for_the_connection_when_its_request_is_answered
    told = Queue.new
    serve do |env|
      child(told) { env["rack.hijack"].call } unless env["PATH_INFO"] == "/fine"
      [200, {}, ["fine"]]
    end
    5.times do
      wire = client
      wire.get("/")
      assert_equal [LET_GO, :out], within { [told.pop, told.pop] }
      answer = within { wire.response_or_end } # the connection may have been on its way
      assert_equal "fine", answer.body if answer
      assert_request_over
    end
  end

  # --- two that write ---

  def test_a_second_writer_is_refused_and_the_first_let_go
    told = Queue.new
    stream { |out, _| child(told) { loop { out << CHUNK } } && out << "second" }
    wire = client
    wire.get("/")
    assert_equal [LET_GO, :out], within { [told.pop, told.pop] }
    assert_cut(wire)
    reason = "a response is written by one fiber, which nothing interrupts"
    assert_match(/failed: NeverBlock::Error: #{reason}/, logged)
    assert_request_over
  end

  def test_a_response_that_has_to_wait_while_a_child_waits_for_the_connection
    told = Queue.new
    gate = Queue.new
    serve do |env|
      case env["PATH_INFO"]
      when "/first" then gate.pop && [200, {}, ["first"]]
      when "/fine" then [200, {}, ["fine"]]
      else child(told) { env["rack.hijack"].call } && [200, {}, Array.new(100, CHUNK)]
      end
    end
    wire = client
    wire.write("GET /first HTTP/1.1\r\nHost: test\r\n\r\nGET / HTTP/1.1\r\nHost: test\r\n\r\n")
    assert_equal [LET_GO, :out], within { [told.pop, told.pop] }
    gate << true
    assert_equal "first", within { wire.response.body }
    assert_cut(wire)
    assert_match(/failed: NeverBlock::Error: a response is written by one fiber at a time/, logged)
    assert_request_over
  end

  # --- clients that leave ---

  def test_a_client_that_a_child_finds_gone_ends_the_request_too
    { PLAIN => { cancel_on_disconnect: 1 }, EVENTS => {} }.each do |headers, settings|
      told = Queue.new
      ends = Queue.new
      stream(headers, **settings) do |out, _|
        child(told) { loop { out << CHUNK } }
        Queue.new.pop
      ensure
        ends << $!.class
      end
      wire = client(receive_buffer_bytes: 4096)
      wire.get("/")
      within { sleep(0.001) until behind? }
      wire.abort
      gone = [NeverBlock::ClientGone, "the client closed the connection"]
      assert_equal [gone, :out], within { [told.pop, told.pop] }
      assert_equal NeverBlock::ClientGone, within { ends.pop }
      assert_request_over
      refute_match(/error/, logged)
      assert @server.stop_now(timeout: SECONDS)
    end
  end

  def test_a_client_that_a_child_finds_gone_where_it_reads_ends_the_request_too
    told = Queue.new
    ends = Queue.new
    reading = Queue.new
    serve(routes: [["/up", { input: :stream }]], cancel_on_disconnect: 1) do |env|
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      child(told) { env["rack.input"].read(3) && (reading << true) && env["rack.input"].read }
      begin
        Queue.new.pop
      ensure
        ends << $!.class
      end
    end
    wire = upload_begun(reading)
    wire.abort
    assert_equal NeverBlock::ClientGone, within { told.pop.first }
    assert_equal NeverBlock::ClientGone, within { ends.pop }
    assert_request_over
  end

  # Its deadline is short, and may pass before the child has met the client's end: then again.
  def test_a_client_that_a_child_finds_gone_leaves_the_request_its_deadline
    ends = Queue.new
    reading = Queue.new
    serve(routes: [["/up", { input: :stream }]], request_timeout_ms: SHORT_MS) do |env|
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      Fiber.schedule do
        env["rack.input"].read(3) && (reading << true) && env["rack.input"].read
      rescue StandardError => e
        ends << e.class
      end
      begin
        Queue.new.pop
      ensure
        ends << $!.class
      end
    end
    within do
      loop do
        wire = upload_begun(reading) or next
        wire.abort
        break if [ends.pop, ends.pop] == [NeverBlock::ClientGone, NeverBlock::DeadlineExceeded]
      end
    end
    assert_request_over
  end

  def test_a_write_whose_last_slice_waits_raises_when_the_client_leaves
    after = []
    ends = Queue.new
    stream do |out, _|
      loop { (out << SLICE) && after << out.closed? }
    ensure
      ends << $!.class
    end
    wire = client(receive_buffer_bytes: 4096)
    wire.get("/")
    within { sleep(0.001) until behind? }
    loop_turns
    wire.abort
    assert_equal NeverBlock::ClientGone, within { ends.pop }
    assert_equal [false], after.uniq
    assert_request_over
  end

  # The writer's fiber is an enumerator's, which the request's has resumed: that is told once.
  def test_a_writer_in_an_enumerator_when_the_client_leaves
    ends = Queue.new
    stream(cancel_on_disconnect: 1) do |out, _|
      chunks = Enumerator.new { |pass| loop { pass << (out << CHUNK) } }
      loop { chunks.next }
    rescue StandardError => e
      ends << e.class
      begin
        sleep(0) # as what is given back does
        ends << :waited
      rescue StandardError => e
        ends << [e.class, :again]
      end
      raise
    end
    wire = client(receive_buffer_bytes: 4096)
    wire.get("/")
    within { sleep(0.001) until behind? }
    wire.abort
    assert_equal [NeverBlock::ClientGone, :waited], within { [ends.pop, ends.pop] }
    assert_request_over
    refute_match(/error/, logged)
  end

  # --- a reader, and the end of the response ---

  def test_who_reads_the_request_when_another_fiber_ends_the_response_is_told
    reading = Queue.new
    ends = Queue.new
    stream(routes: [["/up", { input: :stream }]]) do |out, _|
      Fiber.schedule { (out << "bye") && out.close_write }
      reading << true
      out.read(10)
    rescue StandardError => e
      ends << [e.class, e.message]
    end
    stream_reader_is_told(reading, ends)
  end

  def test_a_child_that_reads_the_request_when_its_fiber_ends_the_response_is_told
    reading = Queue.new
    ends = Queue.new
    stream(routes: [["/up", { input: :stream }]]) do |out, _|
      Fiber.schedule do
        reading << true
        out.read(10)
      rescue StandardError => e
        ends << [e.class, e.message]
      end
      (out << "bye") && out.close_write
      sleep(0.001) while ends.empty?
      ends << :over
    end
    stream_reader_is_told(reading, ends)
  end

  # --- executors that have ended ---

  # In a process of its own, as memory that is gone might be touched.
  def test_a_stream_kept_longer_than_its_executor
    paths = $LOAD_PATH.map { |path| "-I#{path}" }
    output, status = Open3.capture2e("timeout", "-s", "KILL", SECONDS.to_s, RbConfig.ruby, "-W0",
                                     *paths, "-e", <<~RUBY)
                                       require "neverblock"
                                       require "rack"
                                       require "socket"
                                       Ended = Class.new(SystemExit)

                                       def ended_executor
                                         engine = NeverBlock::Engine.new
                                         port = engine.listen_tcp("127.0.0.1", 0, 10)
                                         app = ->(env) { [200, {}, ->(out) { $kept = out; $env = env; out << "x"; sleep }] }
                                         executor = NeverBlock::Executor.new(engine, app)
                                         engine.start
                                         thread = Thread.new do
                                           Thread.current.report_on_exception = false
                                           executor.run
                                         rescue Ended
                                           nil
                                         end
                                         client = TCPSocket.new("127.0.0.1", port)
                                         client.write("GET / HTTP/1.1\\r\\nHost: test\\r\\n\\r\\n")
                                         answer = +""
                                         answer << client.readpartial(4096) until answer.end_with?("x\\r\\n")
                                         sleep(0.001) until thread.stop?
                                         thread.raise(Ended)
                                         thread.join
                                         engine.stop_now
                                         engine.join(#{SECONDS})
                                         engine.close
                                         nil
                                       end

                                       def deep(levels) = levels.zero? ? ended_executor : deep(levels - 1)
                                       def clear(levels) = levels.zero? ? Array.new(100) { Object.new }.size : clear(levels - 1)
                                       Thread.new { deep(50) }.join
                                       clear(200)
                                       10.times { GC.start }
                                       Array.new(2000) { "z" * 300 }
                                       uses = { closed?: [], flush: [], write: ["more"], :<< => ["more"], read: [],
                                                close_write: [], close: [] }
                                       uses.each do |name, arguments|
                                         puts "\#{name} \#{($kept.public_send(name, *arguments).inspect rescue $!.class)}"
                                       end
                                       puts "hijack \#{($env["rack.hijack"].call rescue $!.class)}"
                                     RUBY
    assert_predicate status, :success?, output
    assert_equal <<~TEXT, output
      closed? true
      flush IOError
      write IOError
      << IOError
      read IOError
      close_write nil
      close nil
      hijack NeverBlock::Error
    TEXT
  end

  private

  def stream_reader_is_told(reading, ends)
    client do |wire|
      wire.write("POST /up HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n")
      within { reading.pop }
      assert_equal "bye", within { wire.response.body }
      within { sleep(0.001) until running.zero? }
      assert_equal [NeverBlock::Error,
                    "the response is over: no more is read of the request body"], ends.pop
    end
    assert_serves
  end

  # A client of which half the body has come and is read; nil when the request was over before.
  def upload_begun(reading)
    wire = client
    wire.write("POST /up HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\nabc")
    sleep(0.001) until reading.size == 1 || wire.socket.wait_readable(0)
    reading.size == 1 && reading.pop ? wire : nil
  end

  # Takes what has come; whether that is what filled the ring, and the I/O loop holds no more.
  def client_has_all?(wire)
    wire.closed_by_server?
    wire.buffered.bytesize > RING_BYTES / 2 && @server.stats[:response_bytes].zero?
  end
end
