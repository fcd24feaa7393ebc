# frozen_string_literal: true

require_relative "binding_case"
require "net/http"
require "socket"

# Tests where a request's time went, as rack.response_finished finds it in env: each kind of wait is
# counted once, for the request whose own fiber has waited.
class AccountTest < BindingCase
  # Runs the block as an application, asks it once, and returns what it has waited for, and all.
  def account(path = "/", meanwhile: -> {}, **settings)
    times = Queue.new
    serve(log_requests: :json, **settings) do |env|
      next [200, PLAIN, ["between"]] if env["PATH_INFO"] == "/between"

      env["rack.response_finished"] << ->(*) { times << env["neverblock.time"] }
      yield env
      [200, PLAIN, ["fine"]]
    end
    client do |wire|
      wire.get(path)
      meanwhile.call
      assert_equal 200, wire.response.status
    end
    times.pop.tap { |time| assert_sound(time) }
  end

  # The parts never exceed the whole.
  def assert_sound(time)
    assert_operator time.fetch(:wait_ms).values.sum, :<=, time.fetch(:run_ms) + 0.05
    assert_operator time.fetch(:ran_ms), :>, 0
    assert_operator time.fetch(:queue_ms), :>=, 0
    assert_operator time.fetch(:head_ms), :>=, 0
    assert_operator time.fetch(:allocations), :>, 0
    assert_operator time.fetch(:gc_ms), :>=, 0
  end

  def test_a_request_that_does_not_wait_has_no_waits
    time = account { nil }
    assert_empty time[:waits]
    assert_empty time[:wait_ms]
    refute_includes time, :body_ms
  end

  def test_a_sleep_is_a_wait_of_its_kind_and_as_long
    time = account { 3.times { sleep(0.01) } }
    assert_equal({ sleep: 3 }, time[:waits])
    assert_operator time[:wait_ms][:sleep], :>=, 30
    assert_operator time[:run_ms], :>=, 30
  end

  def test_a_turn_given_away_is_a_wait_for_a_turn
    time = account { 4.times { sleep(0) } }
    assert_equal({ turn: 4 }, time[:waits])
  end

  def test_a_lock_that_another_holds_is_waited_for
    lock = Thread::Mutex.new
    held, gate = Queue.new, Queue.new
    holder = Thread.new { lock.synchronize { held << true && gate.pop } }
    held.pop
    begun = Queue.new
    time = account(meanwhile: -> { let_go(gate, begun) }, slice_ms: nil, spares: 0) do
      begun << true
      lock.synchronize { nil }
    end
    assert_equal({ lock: 1 }, time[:waits])
    assert_operator time[:wait_ms][:lock], :>, 0
  ensure
    holder&.join
  end

  def test_queues_threads_pipes_and_processes_have_their_own_kinds
    gate = Queue.new
    reader, writer = IO.pipe
    time = account(meanwhile: -> { let_go(gate) }) do
      gate.pop
      Thread.new { sleep(0.01) }.join
      Thread.new { sleep(0.01) && writer.write("x") }
      reader.read(1)
      system("sleep", "0.01")
    end
    assert_equal %i[io process queue thread], time[:waits].keys.sort
  ensure
    [reader, writer].each(&:close)
  end

  def test_http_is_told_by_its_client
    server = TCPServer.new("127.0.0.1", 0)
    answers = Thread.new do
      connection = server.accept
      nil until connection.gets == "\r\n"
      sleep(0.01)
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
      connection.close
    end
    time = account { Net::HTTP.get(URI("http://127.0.0.1:#{server.local_address.ip_port}/")) }
    assert_operator time[:waits][:http], :>=, 1
    assert_operator time[:wait_ms][:http], :>=, 5
  ensure
    answers&.join
    server&.close
  end

  # A thread may be done before the fiber has parked: then nothing has waited. Or it holds the lock
  # of its pool. A call site may be taken for another test's that was quick.
  def test_a_file_is_a_wait_for_the_disk_or_for_the_thread_that_opens_it
    path = "#{@log_file.path}.data"
    File.write(path, "x" * 2_000_000)
    NeverBlock::Blockers.forget
    time = account { 20.times { File.open(path, &:read) } }
    assert_includes time[:waits], :offload
    assert_empty time[:waits].keys - %i[file offload turn lock]
  ensure
    FileUtils.rm_f(path)
  end

  # --- whose wait, and once ---

  def test_fibers_that_wait_at_once_are_waited_for_as_such
    time = account { NB.all(*Array.new(5) { -> { sleep(0.02) } }) }
    assert_equal [:fibers], time[:waits].keys - [:turn]
  end

  def test_the_time_that_other_fibers_of_the_request_run_is_its_own
    time = account { NB.all(*Array.new(3) { -> { sleep(0) && compute(0.01) } }) }
    assert_operator time[:ran_ms], :>=, 10
  end

  def test_a_wait_in_an_enumerator_is_the_requests_own
    time = account do
      parts = Enumerator.new { |yielder| 2.times { |part| sleep(0.01) && yielder << part } }
      2.times { parts.next }
    end
    assert_equal({ sleep: 2 }, time[:waits])
    assert_operator time[:wait_ms][:sleep], :>=, 20
  end

  def test_a_fiber_that_waits_for_its_turn_is_told_apart_from_its_wait
    go = Queue.new
    slow = Queue.new
    times = Queue.new
    serve(log_requests: :json, slice_ms: nil, spares: 0) do |env|
      env["rack.response_finished"] << ->(*) { times << [env["PATH_INFO"], env["neverblock.time"]] }
      if env["PATH_INFO"] == "/waits"
        slow << true
        go.pop
      else
        go << true
        compute(0.05)
      end
      [200, PLAIN, ["fine"]]
    end
    first = client.tap { |wire| wire.get("/waits") }
    slow.pop
    assert_equal 200, ask("/computes").status
    assert_equal 200, first.response.status
    time = Array.new(2) { times.pop }.to_h.fetch("/waits")
    assert_sound(time)
    assert_equal({ queue: 1 }, time[:waits])
    assert_operator time[:wait_ms][:turn], :>=, 45
  ensure
    first&.close
  end

  def test_requests_that_interleave_keep_their_accounts_apart
    times = Queue.new
    gates = Hash.new { |all, key| all[key] = Queue.new }
    serve(log_requests: :json) do |env|
      name = env["PATH_INFO"].delete("/")
      env["rack.response_finished"] << ->(*) { times << [name, env["neverblock.time"]] }
      name.to_i.times { gates[name].pop }
      [200, PLAIN, [name]]
    end
    names = %w[1 2 3 4]
    wires = names.to_h { |name| [name, client.tap { |wire| wire.get("/#{name}") }] }
    4.times { names.each { |name| gates[name] << true } }
    wires.each { |name, wire| assert_equal name, wire.response.body }
    found = Array.new(4) { times.pop }.to_h
    names.each { |name| assert_operator found[name][:waits].fetch(:queue, 0), :<=, name.to_i }
    found.each_value { |time| assert_sound(time) }
  ensure
    wires&.each_value(&:close)
  end

  # The second request runs only when the first is preempted.
  def test_a_preempted_fiber_has_waited_for_its_turn
    begun = done = false
    times = Queue.new
    serve(log_requests: :json, slice_ms: 1, spares: 0) do |env|
      env["rack.response_finished"] << ->(*) { times << [env["PATH_INFO"], env["neverblock.time"]] }
      begun = true
      env["PATH_INFO"] == "/computes" ? (nil until done) : done = true
      [200, PLAIN, ["fine"]]
    end
    computes = client.tap { |wire| wire.get("/computes") }
    Thread.pass until begun
    assert_equal 200, ask("/other").status
    assert_equal 200, computes.response.status
    time = Array.new(2) { times.pop }.to_h.fetch("/computes")
    assert_sound(time)
    assert_equal [:turn], time[:waits].keys
    assert_operator time[:wait_ms][:turn], :>, 0
  ensure
    computes&.close
  end

  # --- what it made ---

  def test_objects_and_collections_are_those_of_its_fibers
    time = account { 20_000.times { Object.new } && GC.start }
    assert_operator time[:allocations], :>=, 20_000
    assert_operator time[:allocations], :<, 40_000
    assert_operator time[:gc_ms], :>=, 1
  end

  def test_a_body_that_was_waited_for_is_told
    times = Queue.new
    serve(log_requests: :json) do |env|
      env["rack.response_finished"] << ->(*) { times << env["neverblock.time"] }
      [200, PLAIN, ["fine"]]
    end
    client do |wire|
      wire.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\na")
      loop_turns
      wire.write("b")
      assert_equal 200, wire.response.status
    end
    assert_operator times.pop.fetch(:body_ms), :>, 0
  end

  def test_a_request_that_fails_has_an_account_too
    times = Queue.new
    serve(log_requests: :json) do |env|
      env["rack.response_finished"] << ->(*) { times << env["neverblock.time"] }
      sleep(0.01)
      raise "broken"
    end
    assert_equal 500, ask.status
    assert_equal({ sleep: 1 }, times.pop[:waits])
  end

  def test_an_env_that_the_application_has_frozen_stays_as_it_is
    serve(log_requests: :json) do |env|
      env.freeze
      [200, PLAIN, ["fine"]]
    end
    assert_equal 200, ask.status
    assert_includes Patience.await("the entry") { logged[/^.*"target":"\/".*$/] }, "duration_ms"
    refute_match(/failed|Frozen/, logged)
  end

  # Its thread has no scheduler that would see its waits.
  def test_what_a_request_of_a_lane_waits_for_is_part_of_what_it_ran
    time = account("/lane", routes: [["/lane", { lane: :thread }]]) { sleep(0.02) }
    assert_empty time[:waits]
    assert_operator time[:ran_ms], :>=, 20
  end

  def test_nothing_is_told_where_nobody_asks
    times = Queue.new
    serve do |env|
      env["rack.response_finished"] << ->(*) { times << env.key?("neverblock.time") }
      [200, PLAIN, ["fine"]]
    end
    assert_equal 200, ask.status
    refute times.pop
  end

  private

  # Opens the gate as soon as somebody waits for it, and where a fiber has begun, as soon as that
  # waits: without time slices and spares another request is answered then.
  def let_go(gate, begun = nil)
    Thread.pass until gate.num_waiting == 1
    begun&.pop && assert_equal("between", ask("/between").body)
    gate << true
  end

  # For so long by the clock: fibers that compute at once take turns in that time.
  def compute(seconds)
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) - began < seconds
  end
end
