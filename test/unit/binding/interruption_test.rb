# frozen_string_literal: true

require_relative "binding_case"
require "json"
require "neverblock/db/admission"

# Tests requests that are ended from outside: by their deadline (timeouts request) and by their
# client's leaving (cancel_on_disconnect). The order of events proves everything. A deadline here is
# short, and a machine that stands still may let it pass before the application is called. Such a
# request is made again.
class InterruptionTest < BindingCase
  SHORT_MS = 40
  LONG_MS = 3_600_000
  FINE = ->(_env) { [200, {}, ["fine"]] }

  # --- every kind of wait ---

  # Each waits for ever. `never` is a queue that nobody pushes to.
  WAITS = {
    "sleep" => ->(_never) { sleep },
    "long sleep" => ->(_never) { sleep(3_600) },
    "turns" => ->(_never) { loop { sleep(0) } },
    "queue" => ->(never) { never.pop },
    "sized queue" => ->(_never) { SizedQueue.new(1).tap { |queue| queue << 1 } << 2 },
    "mutex" => ->(never) { Mutex.new.tap { |lock| hold_elsewhere(lock, never) }.lock },
    "condition variable" => ->(_never) {
      Mutex.new.then { |lock| lock.synchronize { ConditionVariable.new.wait(lock) } }
    },
    "read" => ->(_never) { IO.pipe.then { |reader, writer| reader.read || writer } },
    "readable" => ->(_never) { IO.pipe.then { |reader, writer| reader.wait_readable || writer } },
    "select" => ->(_never) { IO.pipe.then { |reader, writer| IO.select([reader]) || writer } },
    "accept" => ->(_never) { TCPServer.new("127.0.0.1", 0).accept },
    "process" => ->(_never) { wait_for_child },
    "names" => ->(_never) {
      loop { Addrinfo.getaddrinfo("127.#{rand(1..250)}.#{rand(1..65_000)}", 80) }
    },
    "thread" => ->(_never) { wait_for_thread },
    "offload" => ->(_never) { wait_for_offloaded },
    "all" => ->(never) { NB.all(-> { sleep }, -> { never.pop }) },
    "deadline" => ->(_never) { NB.deadline(3_600) { sleep } },
    "timeout" => ->(_never) { Timeout.timeout(3_600) { sleep } },
    "kept thread" => ->(_never) { NB.neverblock(false) { sleep } }
  }.freeze
  # What a client's leaving can not end: it keeps the thread that would learn of it.
  KEEPS_THE_THREAD = ["kept thread"].freeze

  class << self
    def hold_elsewhere(lock, never)
      Fiber.schedule { lock.synchronize { never.pop } }
    end

    def wait_for_thread
      thread = Thread.new { Thread.stop }
      begin
        thread.join
      ensure
        thread.kill
      end
    end

    def wait_for_offloaded
      reader, writer = IO.pipe
      begin
        NB.offload { reader.read }
      ensure
        writer.close
      end
    end

    def wait_for_child
      reader, writer = IO.pipe
      child = spawn("cat", in: reader)
      Process.wait(child)
    ensure
      writer.close
      Process.wait(child) if child # a slow start of it may be where the time ends
    end
  end

  def test_a_deadline_ends_every_kind_of_wait
    ends = Queue.new
    serve(request_timeout_ms: SHORT_MS) { |env| wait_as_told(env, ends) }
    WAITS.each_key do |name|
      response = ask_until_begun(name)
      assert_equal [503, nil], [response.status, response["retry-after"]], name
      ended, error = within { ends.pop }
      assert_equal [name, NB::DeadlineExceeded], [ended, root(error).class]
    end
    entry = / warning: GET .* that a request has \(timeouts request\) are over; at /
    assert_equal WAITS.size, logged.scan(entry).size
    refute_match(/failed/, logged)
  end

  def test_a_client_that_leaves_ends_every_kind_of_wait
    ends = Queue.new
    begun = Queue.new
    serve(cancel_on_disconnect: 1) { |env| (begun << true) && wait_as_told(env, ends) }
    WAITS.except(*KEEPS_THE_THREAD).each_key do |name|
      wire = client
      wire.get("/#{WAITS.keys.index(name)}")
      within { begun.pop }
      wire.close
      ended, error = within { ends.pop }
      assert_equal [name, NB::ClientGone], [ended, root(error).class]
    end
    assert_equal "", logged
  end

  # The collector marks what a limit holds while its fiber is parked, and before what was raised
  # arrives.
  def test_collections_while_a_request_waits_to_be_ended
    begun = Queue.new
    ends = Queue.new
    serve(request_timeout_ms: SHORT_MS, cancel_on_disconnect: 1) do |_env|
      Fiber.schedule { 8.times { GC.start && sleep(0) } }
      wait_and_tell(begun, ends)
    end
    5.times do |round|
      wire = first_begun(begun)
      GC.start
      wire.close if round.odd?
      assert_kind_of NB::Error, within { ends.pop }
    end
  end

  # What the fiber has used for another request is not the ended one's (SocketsAtSlicesTest).
  def test_a_connection_of_the_fibers_last_request_is_not_cut
    connection, service = connected
    seen = Queue.new
    serve(fibers: 1, slice_ms: 1, spares: 0, cancel_on_disconnect: 1) do |env|
      connection.wait_readable && connection.gets if env["PATH_INFO"] == "/uses"
      (seen << Fiber.current) && env["PATH_INFO"] == "/computes" && (nil while true)
      FINE.call(env)
    rescue NB::ClientGone => e
      seen << e
    end
    ask("/uses")
    used_in = within { seen.pop }
    client { |wire| wire.get("/computes") && assert_same(used_in, within { seen.pop }) }
    assert_kind_of NB::ClientGone, within { seen.pop }
    service.puts("more")
    assert_equal %W[two\n more\n], (within { Array.new(2) { connection.gets } })
  end

  # --- deadlines ---

  def test_the_application_is_told_its_deadline
    told = Queue.new
    serve(request_timeout_ms: LONG_MS) do |env|
      told << [env["neverblock.deadline"], NB.deadline, NB::Deadline.now,
               NB.all(-> { NB.deadline }).first]
      FINE.call(env)
    end
    before = NB::Deadline.now
    assert_serves
    at, left, now, in_task = within { told.pop }
    assert_kind_of Float, at
    assert_includes (before + (LONG_MS / 1000.0))..(now + (LONG_MS / 1000.0)), at
    assert_operator left, :<=, LONG_MS / 1000.0
    assert_in_delta at, now + left, SECONDS
    assert_operator in_task, :<=, left
  end

  def test_without_one_there_is_nothing_to_be_told
    told = Queue.new
    serve { |env| told << [env.key?("neverblock.deadline"), NB.deadline] and FINE.call(env) }
    assert_serves
    assert_equal [false, nil], within { told.pop }
  end

  def test_who_rescues_it_answers_and_has_no_limit_any_more
    serve(request_timeout_ms: SHORT_MS) do |env|
      sleep
    rescue NB::DeadlineExceeded
      sleep(0.001)
      [200, {}, ["late: #{NB.deadline}, #{env["neverblock.deadline"] <= NB::Deadline.now}"]]
    end
    response = ask_until_begun("sleep")
    assert_equal [200, "late: 0.0, true"], [response.status, response.body]
    assert_equal "", logged
  end

  def test_ensure_blocks_run_to_their_end_and_may_wait
    ran = Queue.new
    serve(request_timeout_ms: SHORT_MS) do |_env|
      sleep
    ensure
      3.times { sleep(0.001) }
      NB.all(-> { sleep(0.001) }, -> { NB.offload { 1 } })
      ran << true
    end
    assert_equal 503, ask_until_begun("sleep").status
    assert within { ran.pop }
  end

  def test_what_an_ensure_block_raises_is_told_and_the_answer_is_the_same
    serve(request_timeout_ms: SHORT_MS) do |_env|
      sleep
    ensure
      raise ArgumentError, "in ensure"
    end
    assert_equal 503, ask_until_begun("sleep").status
    assert_match(
      /error: GET .* failed: ArgumentError: in ensure.*caused by NeverBlock::DeadlineExceeded/m,
      logged
    )
  end

  # As ActiveRecord does with what a driver raises.
  def test_an_error_that_a_library_has_made_of_it_is_the_end_of_its_time_too
    serve(request_timeout_ms: SHORT_MS) do |_env|
      sleep
    rescue StandardError => e
      raise ArgumentError, "wrapped #{e.class}"
    end
    assert_equal 503, ask_until_begun("sleep").status
  end

  def test_a_lock_is_given_back
    lock = Mutex.new
    serve(request_timeout_ms: SHORT_MS) do |env|
      lock.synchronize { env["PATH_INFO"] == "/fine" ? FINE.call(env) : sleep }
    end
    assert_equal 503, ask_until_begun("sleep").status
    refute_predicate lock, :locked?
    assert_equal "fine", ask_until_begun("fine", path: "/fine").body
  end

  def test_a_nearer_deadline_in_the_application_is_its_own
    serve(request_timeout_ms: LONG_MS) do |_env|
      NB.deadline(0.001) { sleep }
    rescue NB::DeadlineExceeded => e
      [200, {}, [e.message]]
    end
    assert_match(/0\.001 s \(NB\.deadline\)/, ask.body)
  end

  def test_a_farther_one_does_not_take_the_requests_for_its_own
    serve(request_timeout_ms: SHORT_MS) do |_env|
      NB.deadline(3_600) { sleep }
    rescue NB::DeadlineExceeded => e
      [200, {}, [e.message]]
    end
    assert_equal 503, ask_until_begun("sleep").status
    assert_match(/timeouts request/, logged)
  end

  # With slices it is ended where one ends (test/integration/unchanged_test.rb).
  def test_without_slices_an_application_that_does_not_wait_keeps_its_time
    serve(request_timeout_ms: SHORT_MS, slice_ms: nil) { |env| pass_time(env) and FINE.call(env) }
    response = ask_until_begun("sleep")
    assert_equal [200, "fine"], [response.status, response.body]
  end

  def test_after_the_head_it_counts_no_more
    local = Queue.new
    serve(request_timeout_ms: SHORT_MS) do |env|
      body = Enumerator.new do |out|
        out << "a"
        pass_time(env)
        sleep(0.001)
        local << NB.deadline
        out << "b"
      end
      [200, {}, body]
    end
    assert_equal "ab", ask_until_begun("sleep").body
    assert_nil within { local.pop }
  end

  def test_a_hijacked_connection_has_none
    serve(request_timeout_ms: SHORT_MS) do |env|
      socket = env["rack.hijack"].call
      pass_time(env)
      sleep(0.001)
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine")
      socket.close
      [-1, {}, []]
    end
    bodies = Array.new(3) { body_of_success }
    assert_equal %w[mine] * 3, bodies
  end

  # The alarm goes off while the fiber is on its way out of its last wait.
  def test_one_that_comes_too_late_to_end_a_wait_ends_nothing_afterwards
    serve(request_timeout_ms: SHORT_MS, fibers: 1) do |env|
      done = Queue.new
      Fiber.schedule { sleep(0) && pass_time(env) && done << true }
      done.pop
      [200, {}, Enumerator.new { |out| 5.times { sleep(0) && out << "x" } }]
    end
    bodies = Array.new(3) { body_of_success }
    assert_equal %w[xxxxx] * 3, bodies
  end

  def test_in_the_queue_it_is_answered_without_the_application
    called = Queue.new
    let_go = Queue.new
    serve(request_timeout_ms: SHORT_MS, fibers: 1) do |env|
      called << env["PATH_INFO"]
      sleep
    rescue NB::DeadlineExceeded
      let_go.pop
      FINE.call(env)
    end
    first = first_begun(called)
    second = client
    second.write("POST /second HTTP/1.1\r\nHost: test\r\nContent-Length: 200000\r\n\r\n" \
                 "#{"x" * 200_000}")
    response = within { second.response(method: "POST") }
    assert_equal [503, "1"], [response.status, response["retry-after"]]
    let_go << true
    assert_equal "fine", within { first.response.body }
    assert_empty called
    loop_turns
    assert_equal 0, @server.stats[:spool_bytes]
    assert_operator @server.stats[:overdue], :>=, 1
  end

  def test_taken_by_an_executor_that_was_busy_it_is_answered_without_the_application
    called = Queue.new
    reader, writer = IO.pipe
    serve(request_timeout_ms: SHORT_MS, spares: 0) do |env|
      called << env["PATH_INFO"]
      next FINE.call(env) unless env["PATH_INFO"] == "/first"

      NeverBlock::Compat.blocking { reader.read(1) }
      pass_time(env)
      FINE.call(env)
    end
    first = first_begun(called)
    before = @server.stats[:requests]
    second = client
    second.get("/second")
    loop_turns until @server.stats[:requests] > before
    over = NB::Deadline.now + (SHORT_MS / 1000.0) + 0.001
    within { sleep(0.001) until NB::Deadline.now > over }
    writer << "x"
    response = within { second.response }
    assert_equal [503, "1"], [response.status, response["retry-after"]]
    assert_equal "fine", within { first.response.body }
    assert_empty called
  end

  # Its fiber has begun, and its application has not.
  def test_held_for_a_connection_it_is_answered_as_one_that_the_application_has_never_seen
    queue = Struct.new(:room, :asked).new(1, 0)
    queue.define_singleton_method(:room) { (self.asked += 1) && self[:room] }
    admission_queue = NeverBlock::Pool::AdmissionQueue.new(queue)
    called = Queue.new
    app = lambda do |env|
      called << env["PATH_INFO"]
      NeverBlock::DB::Admission.asks(admission_queue)
      FINE.call(env)
    end
    admission = NeverBlock::DB::Admission.new(app)
    serve(request_timeout_ms: SHORT_MS) { |env| admission.call(env) }
    assert_equal 200, ask_until_begun("", path: "/notes/1").status
    queue.room = 0
    before = queue.asked
    response = within { ask("/notes/2") } until queue.asked > before
    assert_equal [503, "1"], [response.status, response["retry-after"]]
    assert_equal [["/notes/1"], 0, ""],
                 [Array.new(called.size) { called.pop }, admission_queue.waiting, logged]
    assert_operator @server.stats[:overdue], :>=, 1
  end

  # --- clients that leave ---

  # How a client leaves, and how it asked.
  LEAVES = {
    "FIN, keep-alive" => [%w[1.1], ->(wire) { wire.close }],
    "FIN, Connection: close" => [["1.1", "Connection: close"], ->(wire) { wire.close }],
    "FIN, HTTP/1.0" => [%w[1.0], ->(wire) { wire.close }],
    "half a FIN" => [%w[1.1], ->(wire) { wire.socket.close_write }],
    "RST" => [%w[1.1], ->(wire) { wire.abort }]
  }.freeze

  def test_it_is_noticed_however_a_client_leaves
    begun = Queue.new
    ends = Queue.new
    serve(cancel_on_disconnect: 1) { |_env| wait_and_tell(begun, ends) }
    LEAVES.each do |how, ((version, *fields), leave)|
      wire = client
      wire.get("/", *fields, version: version)
      within { begun.pop }
      leave.call(wire)
      assert_kind_of NB::ClientGone, within { ends.pop }, how
      assert_equal :eof, wire.ending, how if how == "half a FIN"
    end
    loop_turns
    assert_equal LEAVES.size, @server.stats[:aborted]
  end

  def test_without_it_a_client_that_has_shut_down_its_side_has_its_answer
    kept = { cancel_on_disconnect: 1, routes: [["/kept", { cancel_on_disconnect: false }]] }
    [{}, kept].each do |settings|
      let_go = Queue.new
      begun = Queue.new
      serve(**settings) do |env|
        (begun << true) && let_go.pop unless env["PATH_INFO"] == "/fine"
        FINE.call(env)
      end
      [["1.1"], ["1.1", "Connection: close"]].each do |version, *fields|
        wire = client
        wire.get("/kept", *fields, version: version)
        within { begun.pop }
        wire.socket.close_write
        assert_serves # so that the end of what it sends is known
        let_go << true
        assert_equal "fine", within { wire.response.body }
      end
      assert @server.stop_now(timeout: SECONDS)
    end
  end

  def test_a_route_alone_may_have_it
    begun = Queue.new
    ends = Queue.new
    serve(routes: [["/reports/*", { cancel_on_disconnect: true }]]) do |_env|
      wait_and_tell(begun, ends)
    end
    wire = client
    wire.get("/reports/1")
    within { begun.pop }
    wire.close
    assert_kind_of NB::ClientGone, within { ends.pop }
  end

  def test_requests_sent_together_all_end
    begun = Queue.new
    ends = Queue.new
    serve(cancel_on_disconnect: 1) { |_env| wait_and_tell(begun, ends) }
    wire = client
    wire.write("GET /a HTTP/1.1\r\nHost: test\r\n\r\n" * 3)
    within { 3.times { begun.pop } }
    wire.close
    3.times { assert_kind_of NB::ClientGone, within { ends.pop } }
  end

  def test_what_was_asked_before_on_a_route_without_it_is_answered_first
    begun = Queue.new
    ends = Queue.new
    let_go = Queue.new
    serve(routes: [["/ends", { cancel_on_disconnect: true }]]) do |env|
      next FINE.call(env) if env["PATH_INFO"] == "/fine"
      next wait_and_tell(begun, ends) if env["PATH_INFO"] == "/ends"

      begun << true
      let_go.pop
      [200, {}, ["x" * 300_000]]
    end
    wire = client
    wire.write("GET /kept HTTP/1.1\r\nHost: test\r\n\r\nGET /ends HTTP/1.1\r\nHost: test\r\n\r\n")
    within { 2.times { begun.pop } }
    wire.socket.close_write
    assert_serves
    assert_empty ends
    let_go << true
    assert_equal 300_000, within { wire.response.body.bytesize }
    assert_kind_of NB::ClientGone, within { ends.pop }
    assert_equal :eof, wire.ending
  end

  def test_a_request_that_still_waits_in_the_queue_is_dropped
    called = Queue.new
    let_go = Queue.new
    serve(cancel_on_disconnect: 1, fibers: 1) do |env|
      (called << env["PATH_INFO"]) && let_go.pop && FINE.call(env)
    end
    first = client
    first.get("/first")
    within { called.pop }
    second = client
    second.write("POST /second HTTP/1.1\r\nHost: test\r\nContent-Length: 200000\r\n\r\n" \
                 "#{"x" * 200_000}")
    loop_turns until @server.stats[:queue] == 1
    second.close
    loop_turns until @server.stats[:aborted] == 1 && @server.stats[:spool_bytes].zero?
    2.times { let_go << true }
    assert_equal "fine", within { first.response.body }
    assert_serves
    assert_equal ["/fine"], Array.new(called.size) { called.pop }
  end

  def test_a_body_that_waits_for_news_is_ended_and_closed
    begun = Queue.new
    ends = Queue.new
    serve(cancel_on_disconnect: 1) do |env|
      body = Object.new
      body.define_singleton_method(:each) { |&out| out.call("first") || ((begun << true) && sleep) }
      body.define_singleton_method(:close) { ends << :closed }
      finished = ->(_env, status, _headers, error) { ends << status << error.class }
      env["rack.response_finished"] << finished
      [200, {}, body]
    end
    wire = client
    wire.get("/")
    within { begun.pop }
    wire.close
    assert_equal [:closed, 200, NB::ClientGone], within { Array.new(3) { ends.pop } }
    assert_equal "", logged
  end

  def test_a_request_is_ended_once
    begun = Queue.new
    ends = Queue.new
    let_go = Queue.new
    serve(request_timeout_ms: SHORT_MS, cancel_on_disconnect: 1) do |env|
      next FINE.call(env) if env["PATH_INFO"] == "/fine"

      begin
        sleep
      ensure
        begun << true
        let_go.pop
        ends << $!.class
      end
    end
    first_begun(begun).close
    loop_turns until @server.stats[:aborted] == 1
    ask("/fine") # what was told of the client is known when it is answered
    let_go << true
    assert_equal NB::DeadlineExceeded, within { ends.pop }
  end

  # --- what a request has lent ---

  # The other server answers "12345". It keeps the second half of its answer back until the test has
  # seen the request end.
  def test_a_connection_in_the_middle_of_an_answer_is_not_given_on
    [[{ request_timeout_ms: SHORT_MS }, false],
     [{ cancel_on_disconnect: 1 }, true]].each do |settings, leaves|
      backend = TCPServer.new("127.0.0.1", 0)
      pool = NB::Pool::FiberedConnectionPool.new(size: 1) do
        TCPSocket.new("127.0.0.1", backend.local_address.ip_port)
      end
      begun = Queue.new
      ends = Queue.new
      serve(**settings) do |_env|
        pool.hold do |socket|
          socket.write("?")
          half = socket.read(2)
          begun << true
          [200, {}, [half + socket.read(3)]]
        end
      ensure
        ends << $!.class
      end
      wire = client
      wire.get("/")
      held = accept_half(backend) do
        overdue = !leaves && wire.socket.wait_readable(0) && wire.response["retry-after"]
        wire.get("/") if overdue
      end
      within { begun.pop }
      leaves ? wire.close : assert_equal(503, within { wire.response.status })
      assert_includes [NB::DeadlineExceeded, NB::ClientGone], within { ends.pop }
      assert_equal "", within { held.read } # closed
      answer = Thread.new { backend.accept.tap { |other| other.read(1) && other.write("abcde") } }
      assert_equal "abcde", pool.hold { |socket| socket.write("?") && within { socket.read(5) } }
      answer.value.close
      assert @server.stop_now(timeout: SECONDS)
    end
  end

  def test_an_error_made_of_it_is_a_line_of_the_log
    begun = Queue.new
    ends = Queue.new
    serve(cancel_on_disconnect: 1) do |env|
      env["rack.response_finished"] << ->(*) { ends << true }
      begun << true
      begin
        sleep
      rescue StandardError
        raise ArgumentError, "wrapped"
      end
    end
    wire = client
    wire.get("/x")
    within { begun.pop }
    wire.close
    within { ends.pop }
    entry = "its client has left; it ended by ArgumentError: wrapped; at "
    assert_match(/\A[^\n]* info: GET \/x \(\h+\): #{entry}[^\n]*\n\z/, logged)
  end

  def test_the_log_of_requests_has_their_ends
    begun = Queue.new
    ends = Queue.new
    serve(request_timeout_ms: 1_000, cancel_on_disconnect: 1, log_requests: true) do |_env|
      wait_and_tell(begun, ends)
    end
    first_begun(begun).close
    within { ends.pop }
    assert_equal 503, ask_until_begun("sleep", path: "/late").status
    assert_match(%r{info: GET /first 499 .* NeverBlock::ClientGone$}, logged)
    assert_match(%r{info: GET /late 503 .* NeverBlock::DeadlineExceeded$}, logged)
  end

  private

  # A connection on which two lines of an answer have come, and the service's end of it.
  def connected
    listener = TCPServer.new("127.0.0.1", 0)
    connection = TCPSocket.new("127.0.0.1", listener.local_address.ip_port)
    [connection, listener.accept.tap { |service| service.write("one\ntwo\n") }]
  ensure
    listener.close
  end

  # The wait that the path has the number of.
  def wait_as_told(env, ends)
    name, wait = WAITS.to_a.fetch(env["PATH_INFO"].delete_prefix("/").to_i)
    wait.call(never = Queue.new)
    ends << [name, nil]
    FINE.call(env)
  rescue Exception => e # rubocop:disable Lint/RescueException -- Cancelled is none; it goes on
    ends << [name, e]
    raise
  ensure
    never.close # who else waits there is not to outlive the test
  end

  def wait_and_tell(begun, ends)
    begun << true
    sleep
  rescue StandardError => e
    ends << e
    raise
  end

  # NB.deadline passes an enclosing one's error on as Cancelled.
  def root(error)
    error.is_a?(NB::Cancelled) ? error.reason : error
  end

  # A connection on which the first half of an answer was written.
  def accept_half(backend)
    within do
      yield until backend.wait_readable(0.01)
      backend.accept.tap { |held| held.read(1) && held.write("12") }
    end
  end

  # Until its deadline is behind the request, without a wait of its fiber.
  def pass_time(env)
    nil until NB::Deadline.now > env["neverblock.deadline"] + 0.001
    true
  end

  # A response that is the application's or takes its place. A request that the application never
  # saw is made again.
  def ask_until_begun(name, path: "/#{WAITS.keys.index(name)}")
    within do
      loop do
        response = ask(path)
        return response unless response["retry-after"]
      end
    end
  end

  # The body of the first response of the application, asked for until its request is in time.
  def body_of_success
    within do
      loop do
        response = ask
        return response.body if response.status == 200
      end
    end
  end

  # A client whose request has reached the application.
  def first_begun(called)
    within do
      loop do
        wire = client
        wire.get("/first")
        sleep(0.001) until called.size == 1 || (late = wire.socket.wait_readable(0))
        return wire if called.size == 1 && called.pop
        raise "no answer was due" unless late
      end
    end
  end
end
