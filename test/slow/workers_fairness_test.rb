# frozen_string_literal: true

require_relative "workers/workers_case"

# Connections share the workers by request: one that has a worker busy, or many requests in its pipeline, delays no other's. Order is proven by gates: a heavy
# request runs until the test makes its file.
class WorkersFairnessTest < WorkersCase
  WORKERS = 2
  LIGHT = 20
  PIPELINED = 40

  def test_a_worker_that_burns_cpu_gets_no_further_request
    gated("nil until File.exist?(gate)") do |server|
      lights = Array.new(LIGHT) { server.connect }
      heavy = server.connect
      heavy.write(heavy_request(1) * PIPELINED)
      await("heavy request") { @journal.begun.include?("heavy-1") }
      2.times { lights.each_with_index { |wire, number| assert_equal 200, light(wire, number).status } }
      assert_equal 1, @journal.begun.count("heavy-1"), "requests of the pipeline that were begun"
      open_gate(1)
      PIPELINED.times { assert_equal 200, heavy.response.status }
      (lights << heavy).each(&:close)
    end
  end

  # Both workers are busy with one request each; what waits is taken in the order in which it came, whoever has more to ask.
  def test_a_pipeline_waits_its_turn_behind_what_others_asked_before
    gated("sleep 0.01 until File.exist?(gate)", options: ["-f", "1", "--admin", "http://127.0.0.1:0"]) do |server|
      pipeline, other, light = Array.new(3) { server.connect }
      pipeline.write(heavy_request(1) + (heavy_request(3) * PIPELINED))
      other.write(heavy_request(2))
      await("two heavy requests") { (%w[heavy-1 heavy-2] - @journal.begun).empty? }
      light.get("/small", "X-Id: light")
      await("waiting light request") { queued(server).positive? }
      open_gate(1)
      assert_equal 200, light.response.status
      await("next of the pipeline") { @journal.begun.include?("heavy-3") }
      assert_operator @journal.begun.index("light"), :<, @journal.begun.index("heavy-3")
      [2, 3].each { |gate| open_gate(gate) }
      [pipeline, other, light].each(&:close)
    end
  end

  private

  def gated_rackup(way)
    <<~RACKUP
      require #{File.expand_path("workers/app.rb", __dir__).inspect}
      journal = Journal::Writer.new
      light = WorkersApp.new(version: "1", marks: journal)
      run(lambda do |env|
        next light.call(env) unless env["PATH_INFO"].start_with?("/heavy/")

        gate = File.join(#{@directory.inspect}, File.basename(env["PATH_INFO"]))
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
      (1..3).each { |gate| open_gate(gate) }
    end
  end

  def heavy_request(gate)
    "GET /heavy/gate-#{gate} HTTP/1.1\r\nHost: test\r\nX-Id: heavy-#{gate}\r\n\r\n"
  end

  def light(wire, number)
    wire.get("/small", "X-Id: light-#{number}")
    wire.response
  end

  def open_gate(number)
    FileUtils.touch(in_directory("gate-#{number}"))
  end

  def queued(server)
    status = Wire::Client.open(server.admin_url) { |wire| wire.get("/status.json") && wire.response }
    JSON.parse(status.body).fetch("requests").fetch("queued")
  end
end
