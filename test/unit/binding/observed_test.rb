# frozen_string_literal: true

require_relative "binding_case"
require "json"
require "net/http"
require "objspace"
require "socket"

# Tests what is observed of a request: each wait of its own fiber, with the application's lines that
# it happened in, as /observed.json tells.
class ObservedTest < BindingCase
  HERE = File.realpath(__FILE__)
  FOREIGN = File.join(RbConfig::CONFIG["rubylibdir"], "foreign.rb")

  # An application's code.
  module Shop
    module_function

    def total
      [1].each { pause }
    end

    def pause = sleep(0.002)

    def take(gate) = gate.pop

    def deep(left) = left.zero? ? pause : deep(left - 1)

    # As a gem's.
    eval(<<~RUBY, binding, FOREIGN, 1)
      def foreign(left, &block)
        left.zero? ? block.call : foreign(left - 1, &block)
      end

      def foreign_pause(left)
        left.zero? ? sleep(0.002) : foreign_pause(left - 1)
      end

      def foreign_door(left)
        foreign_pause(left)
      end
    RUBY
  end

  def line_of(text) = File.readlines(HERE).index { |line| line.include?(text) } + 1

  # --- frames ---

  def test_a_wait_has_the_lines_it_happened_in_the_innermost_first
    request = observe { Shop.total }
    wait = waits(request).fetch(0)
    assert_equal "sleep", wait["kind"]
    assert wait["ends"]
    assert_operator wait["for_s"], :>=, 0.001
    assert_equal ["<cfunc>", 0, "Kernel#sleep", true], wait["stack"].first
    lines = own(wait).map { |path, line, *| [path, line] }
    assert_equal [[HERE, line_of("def pause")], [HERE, line_of("[1].each { pause }")],
                  [HERE, line_of("[1].each { pause }")], [HERE, line_of("observe { Shop.total }")]],
                 lines.first(4)
    assert_equal %w[ObservedTest::Shop.pause ObservedTest::Shop.total], names(wait).uniq.first(2)
    assert_equal wait["stack"].drop(1), own(wait)
  end

  # Those next to the wait, and those next to the application.
  def test_a_gems_frames_between_the_application_and_the_wait_are_few_and_marked
    request = observe { Shop.foreign(3) { Shop.foreign_door(20) } }
    stack = waits(request).fetch(0)["stack"]
    pause = [FOREIGN, 6, "ObservedTest::Shop.foreign_pause", true]
    assert_equal [["<cfunc>", 0, "Kernel#sleep", true], *([pause] * 4),
                  [FOREIGN, 10, "ObservedTest::Shop.foreign_door", true]], stack.first(6)
    assert_equal [[HERE, false]], stack.drop(6).map { |frame| frame.values_at(0, 3) }.uniq
  end

  def test_the_applications_frames_are_found_below_many_of_a_gem
    request = observe { Shop.foreign_door(400) }
    stack = waits(request).fetch(0)["stack"]
    assert_equal [true] * 6, stack.first(6).map(&:last)
    assert_equal "ObservedTest::Shop.foreign_door", stack[5][2]
    assert_equal [HERE, line_of("observe { Shop.foreign_door(400)")], stack[6].first(2)
  end

  def test_of_a_deep_recursion_the_innermost_frames_are_kept
    request = observe { Shop.deep(1000) }
    wait = waits(request).fetch(0)
    assert_equal 48, own(wait).size
    assert_equal "ObservedTest::Shop.pause", names(wait).first
    assert_equal 47, names(wait).count("ObservedTest::Shop.deep")
    assert_operator request["frames"].size, :<=, 6
  end

  def test_a_method_of_one_object_has_no_address_in_its_name
    object = Object.new
    def object.alone = sleep(0.002)
    request = observe { object.alone && Class.new { def nobodys = sleep(0.002) }.new.nobodys }
    assert_equal(%w[alone nobodys], waits(request).map { |wait| names(wait).first })
  end

  def test_evaluated_code_does_not_hide_the_application
    request = observe { eval("sleep(0.002)") }
    assert_includes waits(request).fetch(0)["stack"].map { |path, line, *| [path, line] },
                    [HERE, line_of('eval("sleep(0.002)")')]
  end

  def test_a_wait_in_an_enumerator_has_the_frames_of_its_fiber
    request = observe do
      parts = Enumerator.new { |yielder| 2.times { yielder << Shop.pause } }
      2.times { parts.next }
    end
    assert_equal 2, waits(request).size
    waits(request).each do |wait|
      assert_equal [HERE, line_of("yielder << Shop.pause")], own(wait)[1].first(2)
      assert_equal "ObservedTest::Shop.pause", names(wait).first
    end
  end

  # --- which waits ---

  def test_http_is_told_with_its_client
    server = TCPServer.new("127.0.0.1", 0)
    port = server.local_address.ip_port
    answers = Thread.new { answer_late(server.accept) }
    request = observe { Net::HTTP.get(URI("http://127.0.0.1:#{port}/?secret=1")) }
    wait = waits(request).find { |one| one["kind"] == "http" }
    assert_equal "127.0.0.1:#{port}", wait["what"]
    assert_equal "Net::HTTP.get", wait["stack"][5][2]
    assert_equal [HERE, line_of("Net::HTTP.get(URI(")], own(wait).first.first(2)
    assert_equal own(wait), wait["stack"].drop(6)
    refute(wait["stack"].any? { |path, *| path.start_with?(NeverBlock::Stalls::OWN) })
  ensure
    answers&.join
    server&.close
  end

  def test_a_wait_without_an_end_is_told_as_one
    gate = Queue.new
    request = observe(meanwhile: -> { open_when_awaited(gate) }) do
      Shop.pause
      gate.pop
    end
    wait = waits(request).find { |one| one["kind"] == "queue" }
    refute wait["ends"]
    assert_equal line_of("      gate.pop\n"), own(wait).first[1]
  end

  def test_waits_of_helpers_are_not_the_requests
    request = observe { NB.all(*Array.new(3) { |number| -> { sleep(0.005 * (number + 1)) } }) }
    assert_equal ["fibers"], waits(request).map { |wait| wait["kind"] } - ["turn"]
    assert_equal({ "fibers" => 1 }, request["waits_of"].slice("fibers", "sleep"))
  end

  def test_the_waits_that_have_no_room_are_counted
    request = observe { 300.times { Shop.pause } }
    assert_equal 256, request["waits"].size
    assert_equal 44, request["waits_left_out"]
    assert_equal 300, request.dig("waits_of", "sleep")
    starts = request["waits"].map { |wait| wait["start_s"] }
    assert_equal starts.sort, starts
  end

  def test_frames_that_have_no_room_leave_their_waits_out
    request = observe do
      300.times { |number| eval("Shop.pause", binding, "/srv/app/#{number}.rb", number + 1) }
    end
    assert_equal 256, request["frames"].size
    assert_equal 300, request["waits"].size + request["waits_left_out"]
    assert_operator request["waits"].size, :>=, 250
  end

  # --- which requests ---

  def test_a_request_that_does_not_wait_is_not_observed
    serve_observed { nil }
    3.times { assert_equal 200, ask("/quick").status }
    Patience.await("all have ended") { executors.sum(&:running).zero? }
    assert_empty document.fetch("requests")
  end

  def test_a_request_that_fails_is_observed
    request = observe(status: 500) { Shop.pause && raise("broken") }
    assert_equal 500, request["status"]
    assert_equal 1, waits(request).size
  end

  # More of them than four, where the machine takes seconds for that.
  def test_of_a_class_the_newest_are_kept
    serve_observed { Shop.pause }
    6.times { |number| ask("/orders/#{number}?secret=1") }
    Patience.await("all have ended") { executors.sum(&:running).zero? }
    requests = document.fetch("requests")
    assert_equal %w[/orders/0], requests.map { |request| request["class"] }.uniq
    counts = requests.map { |request| request["observed"] }
    assert_includes 4..6, counts.first
    assert_equal Array.new(4) { |number| counts.first - number }, counts
    paths = requests.map { |request| request["path"] }
    assert_equal paths.sort.reverse, paths
    refute_includes JSON.generate(requests), "secret"
  end

  def test_so_many_are_observed_at_once
    gate = Queue.new
    serve_observed { Shop.pause && gate.pop }
    wires = ("a".."f").map { |letter| client.tap { |wire| wire.get("/path-#{letter}") } }
    Patience.await("all wait") { gate.num_waiting == 6 }
    6.times { gate << true }
    wires.each { |wire| assert_equal 200, wire.response.status }
    Patience.await("all have ended") { executors.sum(&:running).zero? }
    assert_equal 4, document.fetch("requests").size
  ensure
    wires&.each(&:close)
  end

  # --- ends of all kinds ---

  def test_a_child_of_fork_goes_on_and_leaves_the_request_alone
    request = observe do
      Shop.pause
      pid = fork do
        2.times { Shop.pause }
        exit!(7)
      end
      raise "the child failed" unless Process.wait2(pid).last.exitstatus == 7
    end
    assert_equal 1, request["observed"]
    assert_equal 1, (waits(request).count { |wait| wait["kind"] == "sleep" })
  end

  def test_a_child_that_comes_out_of_the_request_keeps_nothing
    children = Queue.new
    serve_observed do
      Shop.pause
      pid = fork
      children << pid if pid
      Shop.pause
    end
    assert_equal 200, ask("/forks").status
    Process.wait(children.pop)
    request = Patience.await("it is told") { document.fetch("requests").first }
    assert_equal 1, request["observed"]
    assert_equal 2, waits(request).size
  end

  def test_a_thread_that_is_killed_drops_what_is_under_way
    gate = Queue.new
    serve_observed { Shop.pause && gate.pop }
    thread = @server.instance_variable_get(:@threads).first
    wire = client.tap { |one| one.get("/forever") }
    Patience.await("it waits") { gate.num_waiting == 1 && thread.stop? }
    thread.kill
    assert within { @server.wait(SECONDS) }
    assert_nil wire.response_or_end
    GC.start
    assert_operator ObjectSpace.memsize_of_all(NeverBlock::Executor), :>, 0
  ensure
    wire&.close
  end

  # So slow a fiber may find its wait over when it comes to it: that is its turn, and not recorded.
  def test_collections_in_the_middle_change_nothing
    gate = Queue.new
    opener = Thread.new { 3.times { open_when_parked(gate) } }
    request = observe do
      Shop.pause
      GC.stress = true
      2.times { Shop.take(gate) }
      GC.stress = false
      GC.compact
      Shop.take(gate)
    ensure
      GC.stress = false
    end
    taken = waits(request).select { |wait| wait["kind"] == "queue" }
    refute_empty taken
    taken.each { |wait| assert_equal "ObservedTest::Shop.take", names(wait).first }
  ensure
    opener&.join
  end

  private

  def serve_observed(**settings, &application)
    serve(admin: "http://127.0.0.1:0", **settings) do |env|
      application.call(env)
      [200, PLAIN, ["fine"]]
    end
  end

  # What is observed of one request of this application.
  def observe(status: 200, meanwhile: nil, **settings, &application)
    serve_observed(**settings, &application)
    client do |wire|
      wire.get("/observed")
      meanwhile&.call
      assert_equal status, wire.response.status
    end
    Patience.await("it is told") { document.fetch("requests").first }
  end

  def document
    JSON.parse(Net::HTTP.get(URI("#{@server.admin_url}/observed.json?limit=128")))
  end

  # With their frames in place of the numbers.
  def waits(request)
    request["waits"].map do |wait|
      wait.merge("stack" => wait["stack"].map { |number| request["frames"].fetch(number) })
    end
  end

  # The application's frames, and their names.
  def own(wait) = wait["stack"].reject(&:last)
  def names(wait) = own(wait).map { |frame| frame[2] }

  # The fiber counts as waiting a moment before it parks.
  def open_when_parked(gate)
    Thread.pass until gate.num_waiting == 1
    sleep(0.5)
    gate << true
  end

  def open_when_awaited(gate)
    Thread.pass until gate.num_waiting == 1
    sleep(0.05) # it counts as one that waits before it does
    gate << true
  end

  def answer_late(connection)
    nil until connection.gets == "\r\n"
    sleep(0.01)
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    connection.close
  end
end
