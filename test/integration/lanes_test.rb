# frozen_string_literal: true

# Routes whose requests run on threads of their own: one at a time each, without a scheduler, as many as the route says, and a queue of the route's.

require_relative "../support/held_requests"
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
    assert_equal "503", Net::HTTP.get_response(URI("#{url}/lane/")).code
    assert_match(/ cooperative\z/, ask("/"))
    2.times { @release << true }
    assert_equal ["nb-lane-0 blocking", "nb-lane-1 blocking"], held.map(&:value).sort
    assert_match(/\Anb-lane-\d blocking\z/, waits.value)
  end

  # What is done to a response or a body by waiting is done there too.
  def test_bodies_of_every_kind_pass
    start
    assert_equal "300000", Net::HTTP.post(URI("#{url}/lane/size"), "x" * 300_000).body
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
      when "/lane/long" then next [200, {}, Enumerator.new { |out| 300.times { out << ("x" * 10_000) } }]
      when "/lane/file" then next [200, {}, Class.new { def to_path = __FILE__ }.new]
      end
      [200, {}, [here]]
    end
  end

  def here
    "#{Thread.current.name} #{Fiber.current_scheduler || Fiber.scheduler ? "cooperative" : "blocking"}"
  end

  def start(**words)
    serve(app, routes: [["/lane/*", { lane: :thread, **words }]])
  end
end

class WorkersLanesTest < WorkersCase
  APP = <<~RUBY
    require "socket"
    run lambda { |env|
      TCPSocket.open("127.0.0.1", Integer(env["QUERY_STRING"])) { |io| io.read } unless env["QUERY_STRING"].empty?
      [200, {}, ["\#{Thread.current.name} \#{Fiber.current_scheduler ? 1 : 0}"]]
    }
  RUBY

  def test_each_worker_has_its_threads_of_a_lane_and_other_requests_go_on
    Gate.open do |gate|
      with_file("route \"/lane\", lane: :thread, at_once: 1, queue: 1") do |file|
        serve(APP, options: ["-C", file]) do |server|
          held = Array.new(2) { Thread.new { get(server, "/lane?#{gate.port}") } }
          arrivals = Array.new(2) { gate.arrival }
          assert_equal "nb-executor-0 1", get(server)
          arrivals.each(&:close)
          assert_equal ["nb-lane-0 0"] * 2, held.map(&:value)
        end
      end
    end
  end

  private

  def with_file(text)
    Dir.mktmpdir do |directory|
      path = File.join(directory, "neverblock.rb")
      File.write(path, "#{text}\n")
      yield path
    end
  end
end
