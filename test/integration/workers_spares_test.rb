# frozen_string_literal: true

# Calls that keep a worker's thread: without Ruby's lock a spare of the same process goes on, with
# it the other workers do, and the front in any case.

require_relative "../support/http_client"
require_relative "../support/workers_case"

class WorkersSparesTest < WorkersCase
  APP = <<~RUBY
    require "fiddle"
    require "socket"
    READ = Fiddle::Function.new(
      Fiddle::Handle::DEFAULT["read"],
      [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T],
      Fiddle::TYPE_SSIZE_T, need_gvl: true
    )
    ROOM = "x" * 8
    run lambda { |env|
      gate = Integer(env["QUERY_STRING"]) unless env["QUERY_STRING"].empty?
      case env["PATH_INFO"]
      when "/keep"
        NeverBlock::Compat.blocking { TCPSocket.open("127.0.0.1", gate) { |io| io.read } }
      when "/lock"
        NeverBlock::Compat.blocking do
          TCPSocket.open("127.0.0.1", gate) { |io| READ.call(io.fileno, ROOM, 8) }
        end
      when "/park" then TCPSocket.open("127.0.0.1", gate) { |io| io.read }
      end
      [200, {}, ["\#{Process.pid} \#{Thread.current.name}"]]
    }
  RUBY

  def teardown
    @clients&.each { |client| client.join(Patience::SECONDS) }
  end

  def test_a_kept_worker_goes_on_by_its_spares_and_one_that_keeps_the_lock_leaves_the_others
    serve_two do |server, gate|
      arrivals = Array.new(2) { ask(server, "/keep", gate) && gate.arrival }
      assert_match(/ nb-spare-0\z/, get(server))
      parked = ask(server, "/park", gate)
      arrivals << gate.arrival
      locked = ask(server, "/lock", gate)
      arrivals << gate.arrival # in one of the two; the other's spare still runs
      5.times { assert_match(/\A\d+ nb-spare-\d\z/, get(server)) }
      assert_equal "200", HTTPClient.get_response(URI("#{server.admin_url}/health")).code
      assert_match(/^neverblock_executor_helped_total\{executor="\d"\} [1-9]/,
                   HTTPClient.get(URI("#{server.admin_url}/metrics")))
      arrivals.each(&:close)
      assert_match(/\A\d+ nb-spare-0\z/, parked.value)
      assert_match(/\A\d+ nb-/, locked.value)
      await("the workers' own executors serve again", server) do
        get(server).end_with?("nb-executor-0")
      end
    end
  end

  # What a worker that is killed was running is answered 502, be it by a spare.
  def test_requests_of_a_spare_whose_worker_is_killed_are_answered
    serve_two do |server, gate|
      2.times { ask(server, "/keep", gate) && gate.arrival }
      parked = Array.new(2) { ask(server, "/park", gate).tap { gate.arrival } }
      processes(server, "worker ").each { |pid| Process.kill(:KILL, pid) }
      parked.each { |client| assert_match(/\A502 /, client.value) }
      assert_match(/\A\d+ nb-executor-0\z/, get(server))
    end
  end

  private

  def serve_two(**others, &block)
    Gate.open do |gate|
      serve(APP, options: %w[--admin http://127.0.0.1:0], **others) do |server|
        block.call(server, gate)
      end
    end
  end

  # @return [Thread] with the body, or the status and the body where that is not 200
  def ask(server, path, gate)
    client = Thread.new do
      response = get_response(server, "#{path}?#{gate.port}")
      response.code == "200" ? response.body : "#{response.code} #{response.body}"
    end
    (@clients ||= []) << client
    client
  end
end
