# frozen_string_literal: true

# Routes whose requests run on threads of their own: one at a time each, without a scheduler, as
# many as the route says, and a queue of the route's.

require "json"
require_relative "../support/held_requests"
require_relative "../support/http_client"
require_relative "../support/unit"
require_relative "../support/workers_case"
require "neverblock"
require "neverblock/server"

class LanesTest < Minitest::Test
  include HeldRequests

  def test_a_request_of_a_lane_keeps_its_thread_and_nobody_else
    start
    held = client("/lane/held")
    assert_match(/\Anb-lane-\d blocking\z/, by = arrival)
    assert_match(/ cooperative\z/, ask("/"))
    @release << true
    assert_equal by, held.value
  end

  def test_as_many_run_as_the_route_says_as_many_wait_and_more_are_refused
    start(at_once: 2, queue: 1)
    held = Array.new(2) { client("/lane/held").tap { arrival } }
    waits = client("/lane/")
    Patience.await("one waits") { @server.stats.fetch(:queue) == 1 }
    assert_equal "503", HTTPClient.get_response(URI("#{url}/lane/")).code
    assert_match(/ cooperative\z/, ask("/"))
    2.times { @release << true }
    assert_equal ["nb-lane-0 blocking", "nb-lane-1 blocking"], held.map(&:value).sort
    assert_match(/\Anb-lane-\d blocking\z/, waits.value)
  end

  # What is done to a response or a body by waiting is done there too.
  def test_bodies_of_every_kind_pass
    start
    assert_equal "300000", HTTPClient.post(URI("#{url}/lane/size"), "x" * 300_000).body
    assert_equal 3_000_000, ask("/lane/long").bytesize
    assert_equal File.read(__FILE__), ask("/lane/file")
  end

  def test_an_end_waits_for_what_a_lane_runs_and_for_what_waits_for_it
    start(at_once: 1)
    held = client("/lane/held")
    arrival
    waits = client("/lane/")
    Patience.await("one waits") { @server.stats.fetch(:queue) == 1 }
    @server.drain
    @release << true
    assert_equal ["nb-lane-0 blocking"] * 2, [held, waits].map(&:value)
    assert @server.wait(Patience::SECONDS)
    assert_empty Thread.list.filter_map(&:name).grep(/\Anb-/)
  end

  private

  def app
    lambda do |env|
      case env["PATH_INFO"]
      when "/lane/held" then @held.push(here) && @release.pop
      when "/lane/size" then next [200, {}, [env["rack.input"].read.bytesize.to_s]]
      when "/lane/long"
        next [200, {}, Enumerator.new { |out| 300.times { out << ("x" * 10_000) } }]
      when "/lane/file" then next [200, {}, Class.new { def to_path = __FILE__ }.new]
      end
      [200, {}, [here]]
    end
  end

  def here
    cooperative = Fiber.current_scheduler || Fiber.scheduler
    "#{Thread.current.name} #{cooperative ? "cooperative" : "blocking"}"
  end

  def start(**words)
    serve(app, routes: [["/lane/*", { lane: :thread, **words }]])
  end
end

# Requests that go to a lane because calls of others like them have kept the executor.
class LearnedLanesTest < Minitest::Test
  include HeldRequests

  def test_those_like_some_that_have_stalled_again_and_again_go_to_a_lane
    start
    stall_until_learned
    held = client("/held/17")
    assert_match(/\Anb-lane-\d\z/, arrival)
    assert_equal "nb-executor-0", ask("/held")
    @release << true
    assert_match(/\Anb-lane-\d\z/, held.value)
    assert_equal [%w[GET /held/0]],
                 lanes.fetch("learned").map { |like| like.values_at("method", "path") }
    assert_includes 0..60, lanes.dig("learned", 0, "left_s")
    assert_match(/^neverblock_lanes_learned_total 1$/,
                 HTTPClient.get(URI("#{@server.admin_url}/metrics")))
    learned = %r{GET /held/0 has stalled by calls that block, again and again}
    assert_match(/info: #{learned}: such requests run on threads of a lane for 60 s$/,
                 @log_reader.readpartial(65_536))
  end

  # They may be waiting for each other.
  def test_what_was_learned_is_no_limit
    start
    stall_until_learned
    held = Array.new(5) { |number| client("/held/#{number}") }
    threads = Array.new(5) { arrival }
    assert_equal 4, threads.grep(/\Anb-lane-\d\z/).size
    5.times { @release << true }
    held.each(&:value)
  end

  def test_a_route_that_says_fibers_stays_there
    start(routes: [["/held/*", { lane: :fibers }]])
    stall_until_learned
    assert_equal "nb-executor-0", held_once(17)
  end

  def test_where_nothing_is_to_be_learned_they_stay
    [{ learn_lanes: false }, { own_lanes: false }].each do |settings|
      start(**settings)
      5.times { |number| stall(number) }
      assert_equal [0, []], lanes.values_at("learned_total", "learned")
      assert_equal "nb-executor-0", held_once(17)
      @server.stop_now
    end
  end

  # Without time slices, which would keep it from being a stall at all.
  def test_code_that_computes_is_none_of_them
    start(slice_ms: nil)
    5.times do |number|
      before = stalls
      computes = client("/computes/#{number}")
      arrival
      waits = client("/")
      Patience.await("the stall to be told") { stalls > before }
      @release << true
      [computes, waits].each(&:value)
    end
    assert_equal 0, lanes.fetch("learned_total")
  end

  private

  def app
    lambda do |env|
      case env["PATH_INFO"]
      when %r{\A/held/}
        NeverBlock::Compat.blocking { @held.push(Thread.current.name) && @release.pop }
      when %r{\A/computes/}
        @held.push(Thread.current.name)
        nil while @release.empty?
        @release.pop
      end
      [200, {}, [Thread.current.name]]
    end
  end

  def start(**settings)
    serve(app, stall_ms: 20, spares: 0, admin: "http://127.0.0.1:0", **settings)
  end

  def stall_until_learned
    3.times { |number| stall(number) }
    Patience.await("such requests to be learned") { lanes.fetch("learned_total") == 1 }
  end

  # A request whose call keeps its executor until that has been told.
  def stall(number)
    before = stalls
    held = client("/held/#{number}")
    arrival
    Patience.await("the stall to be told") { stalls > before }
    @release << true
    held.value
  end

  # @return [String] the thread of one
  def held_once(number)
    client("/held/#{number}")
    arrival.tap { @release << true }
  end

  def stalls
    status.dig("stalls", "total")
  end

  def lanes
    status.fetch("lanes")
  end

  def status
    JSON.parse(HTTPClient.get(URI("#{@server.admin_url}/status.json")))
  end
end

class WorkersLanesTest < WorkersCase
  APP = <<~RUBY
    require "socket"
    run lambda { |env|
      unless env["QUERY_STRING"].empty?
        TCPSocket.open("127.0.0.1", Integer(env["QUERY_STRING"])) { |io| io.read }
      end
      [200, {}, ["\#{Thread.current.name} \#{Fiber.current_scheduler ? 1 : 0}"]]
    }
  RUBY

  # A worker may have been given both of two requests: one more is sent until each worker's thread
  # has one.
  def test_each_worker_has_its_threads_of_a_lane_and_other_requests_go_on
    Gate.open do |gate|
      with_file("route \"/lane\", lane: :thread, at_once: 1, queue: 100") do |file|
        serve(APP, options: ["-C", file]) do |server|
          held = Array.new(2) { Thread.new { get(server, "/lane?#{gate.port}") } }
          first = gate.arrival
          await("a thread of the other worker", server) do
            next true if gate.anybody?

            held << Thread.new { get(server, "/lane?#{gate.port}") }
            false
          end
          assert_equal "nb-executor-0 1", get(server)
          Thread.new { loop { gate.arrival.close } }.report_on_exception = false
          first.close
          assert_equal ["nb-lane-0 0"] * held.size, held.map(&:value)
        end
      end
    end
  end

  BLOCKS = <<~RUBY
    require "socket"
    run lambda { |env|
      unless env["QUERY_STRING"].empty?
        NB.neverblock(false) do
          TCPSocket.open("127.0.0.1", Integer(env["QUERY_STRING"])) { |io| io.read }
        end
      end
      [200, {}, [Thread.current.name]]
    }
  RUBY

  # The front hears of it from each.
  def test_what_has_stalled_in_any_worker_goes_to_a_lane_of_all
    Gate.open do |gate|
      with_file("executor { stall_ms 20 }") do |file|
        options = ["-e", "production", "-C", file, "--admin", "http://127.0.0.1:0"]
        serve(BLOCKS, options: options) do |server|
          3.times { |number| stall(server, gate, number) }
          await("such requests to be learned", server) { lanes(server).fetch("learned_total") == 1 }
          held = Thread.new { get(server, "/held/17?#{gate.port}") }
          gate.arrival.close
          assert_match(/\Anb-lane-\d\z/, held.value)
          assert_equal "nb-executor-0", get(server, "/held")
        end
      end
    end
  end

  private

  def stall(server, gate, number)
    before = status(server).dig("stalls", "total")
    held = Thread.new { get(server, "/held/#{number}?#{gate.port}") }
    arrival = gate.arrival
    await("the stall to be told", server) { status(server).dig("stalls", "total") > before }
    arrival.close
    held.value
  end

  def lanes(server)
    status(server).fetch("lanes")
  end

  def status(server)
    JSON.parse(HTTPClient.get(URI("#{server.admin_url}/status.json")))
  end

  def with_file(text)
    Dir.mktmpdir do |directory|
      path = File.join(directory, "neverblock.rb")
      File.write(path, "#{text}\n")
      yield path
    end
  end
end
