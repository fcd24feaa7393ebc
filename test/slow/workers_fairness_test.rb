# frozen_string_literal: true

require_relative "workers/workers_case"

# Tests that connections share the workers by request. A connection that keeps a worker busy, or has
# many requests in a pipeline, takes no more than these. Gates prove the order: a heavy request runs
# until the test makes its file.
class WorkersFairnessTest < WorkersCase
  WORKERS = 2
  LIGHT = 20
  PIPELINED = 40
  # Of one connection at the executors at once (NB_PIPELINE_MAX of core/base/limits.h).
  AT_ONCE = 16

  # Two ways to keep a process from anything else until the gate is there.
  HOGS = {
    "burns_cpu" => "nil until File.exist?(gate)",
    "holds_the_lock_in_a_call" => "hold.call(1000) until File.exist?(gate)"
  }.freeze

  HOGS.each do |name, way|
    define_method("test_a_worker_that_#{name}_gets_no_further_request") do
      gated(way) do |server|
        lights = Array.new(LIGHT) { server.connect }
        heavy = server.connect
        heavy.write(heavy_request(1))
        await("heavy request") { @journal.begun.include?("heavy-1") }
        2.times do
          lights.each_with_index { |wire, number| assert_equal 200, light(wire, number).status }
        end
        open_gate
        assert_equal 200, heavy.response.status
        (lights << heavy).each(&:close)
      end
    end
  end

  # Both workers are busy, and a pipeline waits with more. A request of another connection waits
  # behind what came before it, and not behind the rest of the pipeline.
  # One worker may have it in hand while each of the others begins one request that came after it.
  def test_a_pipeline_takes_no_more_turns_than_it_has_requests_at_the_workers
    gated("sleep 0.01 until File.exist?(gate)",
          options: ["-f", "1", "--admin", "http://127.0.0.1:0"]) do |server|
      pipeline, light = Array.new(2) { server.connect }
      pipeline.write((1..PIPELINED).map { |number| heavy_request(number) }.join)
      await("full queue") { queued(server) == AT_ONCE - WORKERS }
      light.get("/small", "X-Id: light")
      await("waiting light request") { queued(server) > AT_ONCE - WORKERS }
      open_gate
      assert_equal 200, light.response.status
      PIPELINED.times { assert_equal 200, pipeline.response.status }
      assert_operator @journal.begun.index("light"), :<=, AT_ONCE + WORKERS - 1
      [pipeline, light].each(&:close)
    end
  end

  private

  def gated_rackup(way)
    <<~RACKUP
      require #{File.expand_path("workers/app.rb", __dir__).inspect}
      require "fiddle"
      hold = Fiddle::Function.new(Fiddle::Handle::DEFAULT["usleep"], [Fiddle::TYPE_INT],
                                  Fiddle::TYPE_INT, need_gvl: true)
      journal = Journal::Writer.new
      light = WorkersApp.new(version: "1", marks: journal)
      run(lambda do |env|
        next light.call(env) unless env["PATH_INFO"].start_with?("/heavy/")

        gate = #{in_directory("gate").inspect}
        journal.put("B", env["HTTP_X_ID"])
        #{way}
        journal.put("E", env["HTTP_X_ID"])
        [200, { "content-length" => "2" }, ["ok"]]
      end)
    RACKUP
  end

  # Whatever becomes of the test, no heavy request waits on.
  def gated(way, options: [])
    serve(gated_rackup(way), workers: WORKERS, options: options) do |server|
      yield server
    ensure
      open_gate
    end
  end

  def heavy_request(number)
    "GET /heavy/ HTTP/1.1\r\nHost: test\r\nX-Id: heavy-#{number}\r\n\r\n"
  end

  def light(wire, number)
    wire.get("/small", "X-Id: light-#{number}")
    wire.response
  end

  def open_gate
    FileUtils.touch(in_directory("gate"))
  end

  def queued(server)
    status = Wire::Client.open(server.admin_url) do |wire|
      wire.get("/status.json") && wire.response
    end
    JSON.parse(status.body).fetch("requests").fetch("queued")
  end
end
