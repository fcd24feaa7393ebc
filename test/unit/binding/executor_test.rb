# frozen_string_literal: true

require_relative "binding_case"
require "minitest/mock"
require "open3"

# Tests NeverBlock::Executor: its life, and what applications, other threads and interrupts do to
# its fibers.
class ExecutorTest < BindingCase
  FINE = ->(_env) { [200, {}, ["fine"]] }

  # --- its life ---

  # A turn begins what has come for at most a millisecond; here that is one request. A fiber goes on
  # in the turn after the one in which it became ready, behind the one request that this turn
  # begins.
  def test_a_fiber_that_is_ready_goes_on_before_a_burst_is_begun_with_whole
    asked = Queue.new
    written = false
    order = []
    serve(slice_ms: nil, spares: 0) do |env|
      path = env["PATH_INFO"]
      asked.pop if path == "/waits"
      order << path
      (nil until written) || asked << true if path == "/first"
      compute_past_a_millisecond if path == "/burst"
      [200, PLAIN, [path]]
    end
    clients = [client.tap { |wire| wire.get("/waits") }]
    Thread.pass until asked.num_waiting == 1
    clients << client.tap { |wire| wire.get("/first") }
    Thread.pass until order.any?
    clients.concat(Array.new(6) { client.tap { |wire| wire.get("/burst") } })
    written = true
    clients.each { |wire| assert_equal 200, wire.response.status }
    assert_includes order.first(3), "/waits"
  ensure
    clients&.each(&:close)
  end

  def compute_past_a_millisecond
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) - began < 0.002
  end

  def test_it_is_made_for_an_open_engine_and_a_sensible_number_of_fibers
    [nil, 3, "engine", Object.new, NeverBlock::Engine].each do |wrong|
      assert_raises(TypeError) { NeverBlock::Executor.new(wrong, FINE) }
    end
    [0, -1, 1_000_001, 1 << 70, nil, "7", :x, [], Float::NAN].each do |wrong|
      assert_raises(ArgumentError, TypeError, RangeError, FloatDomainError) do
        NeverBlock::Executor.new(NeverBlock::Engine.new, FINE, fibers: wrong)
      end
    end
    assert_raises(ArgumentError) { NeverBlock::Executor.new(NeverBlock::Engine.new) }
  end

  def test_it_is_initialized_and_run_once_and_not_before_its_engine_started
    made = engine
    executor = NeverBlock::Executor.new(made, FINE)
    assert_raises(NeverBlock::Error) { executor.send(:initialize, made, FINE) }
    assert_raises(NeverBlock::Error) { executor.run }
    made.start
    runs = run_apart(executor)
    within { sleep(0.001) until made.stats.any? && runs.stop? }
    assert_raises(NeverBlock::Error) { executor.run }
    made.stop_now
    assert_same executor, within { runs.value } || executor
    assert_raises(NeverBlock::Error) { executor.run }
    made.join(SECONDS)
    made.close
  end

  def test_one_never_initialized_runs_and_helps_nothing
    empty = NeverBlock::Executor.allocate
    assert_raises(TypeError, NeverBlock::Error) { empty.run }
    assert_raises(NeverBlock::Error) { empty.finish }
    assert_equal 0, empty.running
    assert_raises(NeverBlock::Error) { NeverBlock::Executor.new(engine, FINE, helps: empty) }
  end

  def test_it_is_not_copied
    executor = NeverBlock::Executor.new(engine, FINE)
    assert_raises(NoMethodError) { executor.dup }
    assert_raises(NoMethodError) { executor.clone }
  end

  def test_it_helps_one_of_its_own_engine
    closed = engine
    others = [NeverBlock::Executor.new(engine, FINE), NeverBlock::Executor.new(closed, FINE)]
    closed.close
    others.each do |other|
      assert_raises(NeverBlock::Error) { NeverBlock::Executor.new(engine, FINE, helps: other) }
    end
  end

  # An engine waits at its end for every executor that it has.
  def test_one_that_could_not_be_made_leaves_nothing_with_its_engine
    failing = Class.new(NeverBlock::Executor) { def scheduler_above(_) = raise("on purpose") }
    made = engine
    port = made.listen_tcp("127.0.0.1", 0, 8)
    assert_raises(RuntimeError) { failing.new(made, FINE, async: true) }
    executor = NeverBlock::Executor.new(made, FINE)
    made.start
    runs = run_apart(executor)
    assert_equal "fine", Wire::Client.open("http://127.0.0.1:#{port}", deadline_s: SECONDS) { |wire|
      wire.get("/") && wire.response.body
    }
    made.drain
    assert made.join(SECONDS)
    assert_nil within { runs.value }
  end

  # The descriptor that woke it may be another's by then.
  def test_it_is_told_to_finish_after_its_engine_is_closed
    closed = engine
    executor = NeverBlock::Executor.new(closed, FINE)
    closed.close
    assert_same executor, executor.finish
    assert_raises(NeverBlock::Error) { executor.run }
  end

  def test_run_after_the_engine_is_closed_or_has_ended
    closed = engine
    executor = NeverBlock::Executor.new(closed, FINE)
    closed.close
    assert_raises(NeverBlock::Error) { executor.run }
    ended = engine
    executor = NeverBlock::Executor.new(ended, FINE)
    ended.start.stop_now
    assert ended.join(SECONDS)
    refute_kind_of Exception, within { run_apart(executor).value }
  end

  def test_its_scheduler_run_by_others_touches_no_engine_that_is_gone
    made = engine
    executor = NeverBlock::Executor.new(made, FINE)
    made.start.stop_now
    assert_nil within { run_apart(executor).value }
    made.join(SECONDS)
    made.close
    GC.start
    within { Thread.new { executor.scheduler.run }.join }
    assert_equal 0, executor.running
  end

  # A body that is not an array.
  class Answer
    def each
      yield "fine"
    end
  end

  # The collector looks at the stacks of parked fibers, whatever lies there.
  def test_fibers_that_wait_for_a_request_keep_nothing_of_their_last
    inside = Queue.new
    go_on = Queue.new
    serve do |env|
      (inside << true) && go_on.pop unless env["PATH_INFO"] == "/fine"
      [200, {}, Answer.new]
    end
    wires = Array.new(30) { client.tap { |wire| wire.get("/") } }
    wires.each { within { inside.pop } }
    wires.each { go_on << true }
    wires.each { |wire| within { wire.response } }
    assert_serves # by the same thread, after them
    GC.start
    assert_operator ObjectSpace.each_object(Answer).count, :<=, 5
  ensure
    wires&.each(&:close)
  end

  # --- ended from outside ---

  # Of all that is raised, SystemExit and its like alone end the executor.
  Ended = Class.new(SystemExit)

  def test_what_is_raised_into_its_thread_leaves_run_and_nothing_behind
    [false, true].each do |with_request|
      inside = Queue.new
      serve { |_env| inside << true && sleep } if with_request
      serve(FINE) unless with_request
      thread = @server.instance_variable_get(:@threads).first
      waiting = with_request && client.tap { |wire| wire.get("/") }
      within { inside.pop } if with_request
      within { sleep(0.001) until thread.stop? }
      thread.raise(Ended, "for the test")
      assert within { @server.wait(SECONDS) }, "its thread waits for a fiber that nobody will wake"
      assert_kind_of Ended, @server.failure
      assert_nil waiting.response_or_end if with_request
    end
  end

  # As a library's own class may be, such as that of the gem mqtt.
  Stray = Class.new(Exception) do # rubocop:disable Lint/InheritException
    def self.untold = new.tap { |error| def error.message = raise(Stray, "in its message") }
  end
  STRAYS = [Stray, Stray.untold, NotImplementedError, SecurityError, SystemStackError,
            ArgumentError].freeze

  def test_what_else_is_raised_into_its_thread_while_a_request_waits_is_logged
    inside = Queue.new
    let_go = Queue.new
    serve { |env| (env["PATH_INFO"] == "/" ? inside << 1 && let_go.pop : 1) && FINE.call(env) }
    thread = @server.instance_variable_get(:@threads).first
    waiting = client.tap { |wire| wire.get("/") }
    within { inside.pop }
    within { sleep(0.001) until thread.stop? }
    STRAYS.each { |error| thread.raise(error) }
    within { sleep(0.001) until logged.scan("requests go on").size == STRAYS.size }
    STRAYS.each { |error| assert_includes logged, (error.is_a?(Class) ? error : error.class).name }
    let_go << true
    assert_equal "fine", waiting.response.body
    assert_serves
    assert_predicate thread, :alive?
  end

  def test_what_is_raised_while_a_request_runs_ends_that_one_alone
    running = Queue.new
    serve { |env| (env["PATH_INFO"] == "/" ? running << 1 && loop { 1 } : 1) && FINE.call(env) }
    thread = @server.instance_variable_get(:@threads).first
    wire = client.tap { |asked| asked.get("/") }
    within { running.pop }
    thread.raise(Stray, "for the test")
    assert_equal 500, within { wire.response }.status
    assert_match(/GET \/ .*failed.*for the test/m, logged)
    assert_serves
  end

  # A fiber of Fiber.schedule, as a block of a FiberPool, hands it on to the loop.
  def test_what_leaves_a_fiber_that_no_request_waits_for_is_logged
    serve { |env| Fiber.schedule { raise Stray, "for the test" } && FINE.call(env) }
    2.times { assert_serves }
    within { sleep(0.001) until logged.scan("that no request waits for").size == 2 }
  end

  def test_a_thread_that_is_killed_while_a_request_waits_ends
    inside = Queue.new
    serve { |_env| inside << true && sleep }
    thread = @server.instance_variable_get(:@threads).first
    waiting = client.tap { |wire| wire.get("/") }
    within { inside.pop }
    within { sleep(0.001) until thread.stop? }
    thread.kill
    assert within { @server.wait(SECONDS) }, "its thread waits for a fiber that nobody will wake"
    assert_match(/its thread was ended/, @server.failure.message)
    assert_nil waiting.response_or_end
  end

  def test_a_request_that_kills_its_thread_while_another_waits_ends_it
    inside = Queue.new
    serve { |env| env["PATH_INFO"] == "/kill" ? Thread.current.kill : inside << true && sleep }
    thread = @server.instance_variable_get(:@threads).first
    waiting = client.tap { |wire| wire.get("/") }
    within { inside.pop }
    client { |wire| wire.get("/kill") && wire.response_or_end }
    assert within { thread.join }
    assert_nil waiting.response_or_end
  end

  def test_a_thread_that_goes_on_after_run_has_no_scheduler_any_more
    made = engine
    made.listen_tcp("127.0.0.1", 0, 8)
    executor = NeverBlock::Executor.new(made, FINE)
    made.start
    after = Queue.new
    thread = Thread.new do
      executor.run
    rescue Ended
      made.stop_now
      made.join
      made.close
      GC.start
      after << Fiber.scheduler
    end
    within { sleep(0.001) until thread.stop? }
    thread.raise(Ended)
    assert_nil within { after.pop }
    assert within { thread.join }
  end

  def test_a_request_that_kills_its_thread_still_has_its_body_closed
    [false, true].each do |close_fails|
      closed = Queue.new
      body = Object.new
      body.define_singleton_method(:each) { |&block| block.call("begun") || Thread.current.kill }
      body.define_singleton_method(:close) do
        (closed << :closed) && close_fails && raise("in close")
      end
      serve { |_env| [200, {}, body] }
      wire = client
      wire.get("/")
      assert_equal :closed, within { closed.pop }
      assert_predicate wire.response_as_far_as_it_comes, :cut?
      thread = @server.instance_variable_get(:@threads).first
      assert within { thread.join }
      assert_nil thread.value
      assert @server.stop_now(timeout: SECONDS)
    end
  end

  # --- fibers of the pool ---

  def test_what_is_raised_into_a_fiber_between_two_requests_meets_no_other_request
    fibers = []
    serve do |env|
      fibers << Fiber.current
      if env["PATH_INFO"] == "/late"
        fibers[0...-1].uniq.each { |fiber| fiber.raise(Ended) unless fiber == Fiber.current }
      end
      sleep(0.01) if env["PATH_INFO"] == "/held"
      FINE.call(env)
    end
    5.times do
      wires = Array.new(4) { client.tap { |wire| wire.get("/held") } }
      wires.each { |wire| assert_equal 200, wire.response.status }
      ask("/late")
      4.times { assert_serves }
    end
    refute_includes logged, "Ended"
  end

  def test_fibers_called_from_other_requests_or_threads
    saved = Queue.new
    let_go = Queue.new
    serve do |env|
      case env["PATH_INFO"]
      when "/save" then saved << Fiber.current && let_go.pop
      when "/yield" then Fiber.yield
      when "/resume" then saved.pop.resume
      when "/elsewhere" then Fiber.new { Fiber.new { sleep(0.001) }.resume && sleep(0.001) }.resume
      end
      FINE.call(env)
    end
    client.get("/save")
    assert_equal 500, ask("/yield").status
    assert_equal 500, ask("/resume").status
    assert_equal 200, ask("/elsewhere").status
    2.times { let_go << true }
    ask("/save")
    error = assert_raises(FiberError) { saved.pop.resume }
    assert_kind_of FiberError, error
    assert_serves
  end

  # What one request does in its fiber, while others wait behind it in the ring.
  ENDS = {
    "/fine" => -> { [200, {}, ["fine"]] },
    "/local" => -> { [200, {}, [Thread.current[:left].inspect.tap { Thread.current[:left] = 1 }]] },
    "/sleep" => -> { sleep(0.01) && [200, {}, ["slept"]] },
    "/raise" => -> { raise Ended },
    "/stream" => -> {
      [200, {}, Enumerator.new { |parts| 3.times { |part| parts << part.to_s && sleep(0.001) } }]
    },
    "/inner" => -> { [200, {}, [Fiber.new { sleep(0.001) && "inner" }.resume]] },
    "/thread" => -> { [200, {}, [Thread.new { "thread" }.value]] },
    "/spawn" => -> { [200, {}, ["spawn"]].tap { Fiber.schedule { sleep(0.001) } } }
  }.freeze
  ANSWERS = { "/fine" => "fine", "/local" => "nil", "/sleep" => "slept", "/stream" => "012",
              "/inner" => "inner", "/thread" => "thread", "/spawn" => "spawn" }.freeze

  # The executor is kept busy until all of them are there, so that each fiber that ends finds the
  # next request waiting.
  def test_requests_that_wait_together_each_have_their_own_answer
    paths = ENDS.keys.cycle.first(64).shuffle(random: Random.new(3))
    serve(fibers: 48) do |env|
      next ENDS.fetch(env["PATH_INFO"]).call unless env["PATH_INFO"] == "/hold"

      Thread.pass until @server.stats[:requests] == paths.size + 1
      FINE.call(env)
    end
    first = client.tap { |wire| wire.get("/hold") }
    wires = paths.map { |path| client.tap { |wire| wire.get(path) } }
    assert_equal 200, within { first.response }.status
    paths.zip(wires) do |path, wire|
      response = within { wire.response }
      assert_equal ANSWERS.fetch(path, "500"),
                   path == "/raise" ? response.status.to_s : response.body, path
    end
  end

  def test_a_finished_fiber_is_not_used_again
    serve do |env|
      kills = env["PATH_INFO"] == "/kill" && Fiber.current.respond_to?(:kill)
      kills ? Fiber.current.kill : FINE.call(env)
    end
    3.times { ask("/kill") && assert_serves }
  end

  def test_it_keeps_no_more_fibers_than_fit_the_system
    skip "the mapping limit is not ours to lower" unless File.readable?("/proc/self/maps")
    living = []
    fiber_new = Fiber.method(:new)
    held = Queue.new
    serve(fibers: 64, spares: 0) do |env|
      held.pop if env["PATH_INFO"] == "/held"
      FINE.call(env)
    end
    assert_serves
    stub = lambda do |**options, &block|
      living.select!(&:alive?) # as in a system, one that has ended leaves its room
      raise FiberError, "can't alloc machine stack to fiber" unless living.size < 3

      fiber_new.call(**options, &block).tap { |fiber| living << fiber }
    end
    Fiber.stub(:new, stub) do
      wires = Array.new(10) { client.tap { |wire| wire.get("/held") } }
      within { sleep(0.001) until logged.include?("from here on") }
      held.close
      answers = wires.map { |wire| wire.response.status }.tally
      assert_equal [200, 503], answers.keys.sort
      assert_operator answers[200], :>=, 3,
                      "those that were made; the first one's may have gone with time"
      assert_serves
    end
    assert_match(/no more than \d requests run at once from here on: can't alloc/, logged)
    assert_equal 1, logged.scan("from here on").size
  end

  # The loop calls a spare while it sees the executor run a fiber. Here it sees the one that is
  # scheduled, as it would see an earlier request of the same turn.
  def test_a_spare_that_takes_a_request_without_a_fiber_leaves_its_thread_no_error
    room = Queue.new
    fiber_new = Fiber.method(:new)
    others = Thread.list
    serve { [200, PLAIN, [Thread.current.name]] }
    executor = (Thread.list - others).find { |thread| thread.name == "nb-executor-0" }
    run = false
    stub = lambda do |**options, &block|
      next fiber_new.call(**options, &block) if run || Thread.current != executor

      run = true
      Fiber.schedule { nil }
      run = room.pop
      raise FiberError, "can't alloc machine stack to fiber"
    end
    Fiber.stub(:new, stub) do
      assert_equal "nb-spare-0", ask.body
      room.close
      assert @server.stop_now(timeout: SECONDS)
    end
    assert_same executor, executor.join(SECONDS)
    refute_match(/can't alloc/, logged)
  ensure
    room.close
  end

  # --- writers that are interrupted ---

  CHUNK = ("x" * 65_536).freeze

  # Many writers fill the response ring and every client's backlog; some are interrupted where they
  # wait.
  def test_writers_interrupted_while_they_wait_for_room_or_for_the_client
    writing = []
    serve(fibers: 100) do |env|
      case env["PATH_INFO"]
      when "/interrupt"
        writing.each_slice(2) { |fiber, _| fiber.raise(Ended) } && FINE.call(env)
      when "/large"
        [200, {}, Enumerator.new { |out| (writing << Fiber.current) && 120.times { out << CHUNK } }]
      else FINE.call(env)
      end
    end
    8.times do
      writing.clear
      wires = Array.new(12) { client(receive_buffer_bytes: 4096).tap { |wire| wire.get("/large") } }
      within { sleep(0.001) until writing.size == 12 }
      ask("/interrupt")
      answers = wires.map(&:response_as_far_as_it_comes)
      whole = 120 * CHUNK.bytesize
      answers.each do |answer|
        assert answer.cut? || answer.status == 500 || answer.body.bytesize == whole, answer.inspect
      end
      assert_operator answers.count { |answer| answer.cut? || answer.status == 500 }, :>=, 1
      assert_serves
    end
  end

  def test_a_timeout_around_a_write
    serve do |env|
      next FINE.call(env) if env["PATH_INFO"] == "/fine"

      [200, {}, Enumerator.new { |out| 100.times { Timeout.timeout(0.05) { out << CHUNK } } }]
    end
    wires = Array.new(6) { client(receive_buffer_bytes: 4096).tap { |wire| wire.get("/large") } }
    within { sleep(0.005) until logged.scan("Timeout::Error").size >= 6 }
    wires.each { |wire| assert_predicate wire.response_as_far_as_it_comes, :cut? }
    assert_serves
  end

  def test_stop_ends_every_writer_that_waits
    serve(fibers: 100) { |_env| [200, {}, Enumerator.new { |out| loop { out << CHUNK } }] }
    wires = Array.new(30) { client(receive_buffer_bytes: 4096).tap { |wire| wire.get("/") } }
    within { sleep(0.001) until @server.stats[:requests] == 30 }
    assert within { @server.stop_now(timeout: SECONDS) }
    wires.each(&:close)
  end

  # --- forks ---

  def test_a_child_that_comes_out_of_a_request_runs_no_other_request
    ran = Tempfile.new("ran")
    serve do |env|
      File.open(ran.path, "a") { |file| file.write("#{env["PATH_INFO"]}\n") }
      next FINE.call(env) unless env["PATH_INFO"] == "/fork"

      child = fork
      child ? FINE.call(env).tap { Process.wait(child) } : FINE.call(env)
    end
    wire = client
    paths = %w[/fork] + Array.new(8) { |n| "/#{n}" }
    wire.write(paths.map { |path| "GET #{path} HTTP/1.1\r\nHost: test\r\n\r\n" }.join)
    9.times { assert_equal "fine", within { wire.response.body } }
    assert_serves
    assert_equal [*paths, "/fine"].sort, File.readlines(ran.path, chomp: true).sort
  ensure
    ran&.close!
  end

  # The threads of these executors are not in the child, and nothing else keeps them. What is freed
  # is filled with a pattern.
  def test_a_child_forgets_its_parents_executors_that_are_collected
    script = <<~RUBY
      require "neverblock"
      require "rack"
      running = Array.new(4) do
        Thread.new do
          engine = NeverBlock::Engine.new
          executor = NeverBlock::Executor.new(engine, nil, stalls: { ms: 60_000, routes: [] })
          engine.start
          executor.run
        end
      end
      Thread.pass until running.all? { |one| one.stop? && one.backtrace[0].end_with?("run'") }
      child = fork do
        3.times { GC.start }
        NeverBlock::Executor.close_request_class(1)
        exit!(ObjectSpace.each_object(NeverBlock::Executor).count < 4 ? 7 : 8)
      end
      exit!(Process.wait2(child).last.exitstatus || 9)
    RUBY
    load_path = $LOAD_PATH.map { |path| "-I#{path}" }
    system({ "MALLOC_PERTURB_" => "165" }, RbConfig.ruby, *load_path, "-e", script, err: File::NULL)
    assert_equal 7, $?.exitstatus
  end

  # What only Ruby's objects refer to is moved, as by Process.warmup before a server serves.
  def test_an_executor_and_a_scheduler_may_be_made_before_a_compaction
    skip "this Ruby cannot compact" unless GC.respond_to?(:verify_compaction_references)
    script = <<~'RUBY'
      require "neverblock"
      require "rack"
      require "socket"
      engine = NeverBlock::Engine.new
      port = engine.listen_tcp("127.0.0.1", 0, 8)
      fine = ->(_env) { [200, {}, ["fine"]] }
      # A thread of its own: what a stack refers to is not moved.
      made = Thread.new { [NeverBlock::Executor.new(engine, fine), NeverBlock::Scheduler.new] }.value
      GC.verify_compaction_references(toward: :empty)
      engine.start
      Thread.new { made[0].run }
      TCPSocket.open("127.0.0.1", Integer(port)) do |socket|
        socket.write("GET / HTTP/1.0\r\n\r\n")
        puts socket.read.lines.last
      end
      Thread.new {
        Fiber.set_scheduler(made[1])
        Fiber.schedule { sleep(0.001) && puts("slept") }
      }.join
    RUBY
    load_path = $LOAD_PATH.map { |path| "-I#{path}" }
    output, status = Open3.capture2e(RbConfig.ruby, *load_path, "-e", script)
    assert_equal [%w[fine slept], true], [output.lines(chomp: true), status.success?], output
  end

  # --- two at once ---

  def test_two_executors_under_load_give_each_client_its_own_answers
    serve(executors: 2, fibers: 64) do |env|
      number = env["QUERY_STRING"].to_i
      sleep(0.0005 * (number % 3)) if number.odd?
      body = "#{number}:#{env["rack.input"].read}"
      next [200, {}, [body]] unless number % 5 == 4

      [200, {}, Enumerator.new { |out| body.each_char { |char| out << char } }]
    end
    threads = Array.new(6) do |thread|
      Thread.new do
        client do |wire|
          250.times do |n|
            number = (thread * 1000) + n
            text = "b#{number}" * (n % 40)
            wire.write("POST /?#{number} HTTP/1.1\r\nHost: test\r\n" \
                       "Content-Length: #{text.bytesize}\r\n\r\n#{text}")
            assert_equal "#{number}:#{text}", wire.response(method: "POST").body
          end
        end
      end
    end
    within(2 * SECONDS) { threads.each(&:value) }
  end
end
