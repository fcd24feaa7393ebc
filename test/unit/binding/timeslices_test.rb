# frozen_string_literal: true

require_relative "../../support/timeslices"
require_relative "binding_case"

# Tests a server whose requests compute: others are taken and answered meanwhile. Each request that
# computes does so until another has been answered.
class BindingTimeslicesTest < BindingCase
  PLAIN_200 = [200, PLAIN].freeze

  def cpu_ns = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
  def now_s = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def answer(text)
    [*PLAIN_200, [text]]
  end

  def test_a_request_is_answered_while_another_computes
    answered = 0
    serve do |env|
      nil until answered.positive? || env["PATH_INFO"] == "/light"
      answered += 1
      answer("done")
    end
    client do |hog|
      hog.get("/hog")
      assert_equal 200, ask("/light").status
      assert_equal 200, hog.response.status
    end
  end

  # The pool has one fiber, which has served the request before.
  def test_a_request_is_preempted_though_the_one_before_has_left_an_enumerator_in_a_region
    asks = Object.new.extend(Timeslices)
    all = Enumerator.new { |out| NB.uninterrupted { out << 1 } }
    serve do |env|
      left = env["PATH_INFO"] == "/leave" ? all.next == 1 : asks.left?
      answer([Fiber.current.object_id, left].join(" "))
    end
    answers = %w[/leave /hog].map { |path| ask(path).body }
    assert_match(/ true\z/, answers.first)
    assert_equal answers.first, answers.last
  end

  def test_what_a_long_request_has_made_is_collected_when_it_is_over
    collections_by_name do
      serve_long { 300_000.times { Object.new } }
      wire = long
      before = [GC.count, GC.stat(:major_gc_count)]
      finish(wire)
      Patience.await("the collection") { GC.count > before.first }
      assert_equal [before.first + 1, before.last], [GC.count, GC.stat(:major_gc_count)]
      assert_equal :method, GC.latest_gc_info(:gc_by)
    end
  end

  def test_where_a_long_request_has_made_little_nothing_is_collected
    collections_by_name do
      serve_long { 1000.times { Object.new } }
      before = GC.count
      2.times { finish(long) }
      assert_equal before, GC.count
    end
  end

  # It would walk all that the other keeps.
  def test_nothing_is_collected_while_another_long_request_is_half_done
    collections_by_name do
      serve_long { 300_000.times { Object.new } }
      wire, other = long, long("/other")
      before = GC.count
      finish(wire)
      2.times { assert_equal 200, ask("/light").status }
      assert_equal before, GC.count
      finish(other, "/other")
      Patience.await("the collection") { GC.count > before }
    end
  end

  def test_an_application_that_has_disabled_collections_has_none
    collections_by_name do
      serve_long { 300_000.times { Object.new } }
      GC.disable
      before = GC.count
      2.times { finish(long) }
      assert_equal [before, true], [GC.count, GC.enable]
    end
  ensure
    GC.enable
  end

  # The executor goes on asking while all it has to do is to go on with those that compute. The
  # client writes once, as this process's threads share Ruby's lock.
  def test_one_request_after_another_is_taken_while_four_compute
    light = 0
    serve do |env|
      env["PATH_INFO"] == "/light" ? light += 1 : (nil until light >= 200)
      answer("done")
    end
    hogs = Array.new(4) { client.tap { |wire| wire.get("/hog") } }
    client do |wire|
      wire.write("GET /light HTTP/1.1\r\nHost: x\r\n\r\n" * 200)
      200.times { assert_equal 200, wire.response.status }
    end
    hogs.each { |hog| assert_equal 200, hog.response.status }
  ensure
    hogs&.each(&:close)
  end

  # The request that lets the computing one go on is the last that was asked for. Nothing is asked
  # for between the two.
  def test_a_request_is_answered_beside_one_that_computes_though_the_executor_had_not_asked_for_it
    going = Queue.new
    answered = 0
    serve(credit: 1) do |env|
      case env["PATH_INFO"]
      when "/hog" then going.pop && (nil until answered.positive?)
      when "/go" then going << 1
      when "/light" then answered += 1
      end
      answer("done")
    end
    client do |hog|
      hog.get("/hog")
      Patience.await("the request that computes") { going.num_waiting == 1 }
      assert_equal 200, ask("/go").status
      assert_equal 200, ask("/light").status
      assert_equal 200, hog.response.status
    end
  end

  # Four are, and one more for each 100 ms in which none came or ended, as on a machine that stands
  # still. Without this bound all of them were.
  def test_of_many_that_are_alike_few_are_half_done
    half_done = []
    changes = []
    begun = ended = 0
    serve do
      changes << now_s
      half_done << ((begun += 1) - ended)
      until_ns = cpu_ns + 40_000_000
      nil until cpu_ns > until_ns
      changes << now_s
      ended += 1
      answer("done")
    end
    hogs = Array.new(32) { |number| client.tap { |wire| wire.get("/reports/#{number}") } }
    hogs.each { |hog| assert_equal "done", hog.response.body }
    raised = changes.each_cons(2).sum { |before, after| ((after - before) / 0.1).floor }
    assert_includes 2..(12 + raised), half_done.max
  ensure
    hogs&.each(&:close)
  end

  def test_of_one_like_all_come_in_though_none_ends_before
    begun = 0
    serve do
      begun += 1
      nil until begun >= 6
      answer("all")
    end
    hogs = Array.new(6) { |number| client.tap { |wire| wire.get("/reports/#{number}") } }
    hogs.each { |hog| assert_equal "all", hog.response.body }
  ensure
    begun = 6
    hogs&.each(&:close)
  end

  def test_a_streamed_body_is_written_beside_one_that_computes
    done = false
    serve do |env|
      next answer((nil until done).to_s) if env["PATH_INFO"] == "/hog"

      body = Enumerator.new { |out| 20.times { |i| out << "#{i}," && sleep(0.001) } }
      [200, { "content-type" => "text/plain" }, body]
    end
    client do |hog|
      hog.get("/hog")
      assert_equal (0..19).map { |i| "#{i}," }.join, ask("/stream").body
      done = true
      assert_equal 200, hog.response.status
    end
  end

  # The body's each, its to_s, close, and what runs after the response may be left as the
  # application may.
  def test_all_of_a_response_may_compute
    lights = 0
    compute = lambda do
      before = lights
      nil until lights > before
    end
    finished = Queue.new
    body = Class.new do
      define_method(:each) { |&part| 3.times { |i| compute.call || part.call("part #{i} ") } }
      define_method(:close) { compute.call || finished << :closed }
    end
    serve do |env|
      next (lights += 1) && answer("light") if env["PATH_INFO"] == "/light"

      env["rack.response_finished"] << ->(*) { compute.call || finished << :finished }
      [*PLAIN_200, body.new]
    end
    client do |hog|
      hog.get("/hog")
      ask("/light") until finished.size == 2
      assert_equal "part 0 part 1 part 2 ", hog.response.body
    end
    assert_equal %i[closed finished], [finished.pop, finished.pop]
  end

  def test_one_that_fails_after_it_was_left_is_answered_500_and_logged
    lights = 0
    serve do |env|
      next (lights += 1) && answer("light") if env["PATH_INFO"] == "/light"

      nil until lights > 1
      raise "broken after all"
    end
    client do |hog|
      hog.get("/hog")
      2.times { ask("/light") }
      assert_equal 500, hog.response.status
    end
    assert_includes logged, "broken after all"
  end

  def test_the_server_drains_what_computes
    light = false
    serve do |env|
      next (light = true) && answer("x") if env["PATH_INFO"] == "/light"

      answer((nil until light).to_s)
    end
    client do |hog|
      hog.get("/hog")
      light_client = client.tap { |wire| wire.get("/light") }
      assert_equal 200, light_client.response.status
      light_client.close
      assert_equal 200, hog.response.status
    end
    assert @server.stop_now(timeout: SECONDS)
    @server = nil
  end

  def test_a_cooperative_server_has_none
    serve(slice_ms: nil) { answer(Fiber.scheduler.slice_ms.inspect) }
    assert_equal "nil", ask.body
  end

  def test_and_others_have_what_they_are_told
    serve(slice_ms: 7) { answer([Fiber.scheduler.slice_ms, NB.uninterrupted { 1 }].inspect) }
    assert_equal "[7, 1]", ask.body
    error = assert_raises(NeverBlock::ConfigError) { NeverBlock::Config.new(slice_ms: 0) }
    assert_includes error.message, "slice_ms"
  end

  private

  # There is so much room that Ruby collects when it is asked to, and not before.
  # There is room for all that is made, whatever the tests before have left: 700,000 slots are free,
  # and no page is empty, so that Ruby keeps it (NeverBlock::Heap).
  def collections_by_name
    GC.disable
    free = GC.stat(:heap_available_slots) - GC.stat(:heap_live_slots)
    anchors = NB::Heap.fill([free, 700_000].max, 3, NB::Heap::ANCHOR_EVERY)
    GC.enable
    GC.start
    yield
    refute_empty anchors
  ensure
    GC.enable
  end

  # A request computes until it is told to finish, and does this then.
  def serve_long(&last)
    @finished = []
    serve do |env|
      path = env["PATH_INFO"]
      if path.start_with?("/finish")
        @finished << path.delete_prefix("/finish")
      elsif path != "/light"
        nil until @finished.include?(path)
        last.call
      end
      answer("done")
    end
  end

  # @return [Object] a client whose request computes, and whose slice has ended
  def long(path = "/long")
    wire = client
    wire.get(path)
    assert_equal 200, ask("/light").status
    wire
  end

  def finish(wire, path = "/long")
    assert_equal 200, ask("/finish#{path}").status
    assert_equal 200, wire.response.status
    assert_equal 200, ask("/light").status
    @finished.delete(path)
  ensure
    wire.close
  end
end
