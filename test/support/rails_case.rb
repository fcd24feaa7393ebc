# frozen_string_literal: true

# What is asked of a freshly generated Rails application with one line in its Gemfile, served in
# development: one server for all these tests.

require "json"
require "minitest/autorun"
require "securerandom"
require "websocket/driver"
require_relative "gate"
require_relative "http_client"
require_relative "rails_application"

class RailsCase < Minitest::Test
  TOGETHER = 50

  class << self
    # @return [RailsApplication] the slow suite has other versions
    def application
      RailsApplication.instance
    end

    # @return [Hash{String => String}] more of the server's environment
    def env
      {}
    end

    # @return [Integer] processes that answer
    def processes
      1
    end

    def runnable_methods
      self == RailsCase ? [] : super
    end

    def server
      raise @problem if @problem

      @server ||= RailsServer.new("bin/rails", "server", *RailsServer::ANY,
                                  application: application, env: env,
                                  write: RailsServer::WRITE).start
    rescue StandardError => e
      raise @problem = e
    end

    def run(reporter, options = {})
      super
    ensure
      run_one_method(self, "the_server_ends_by_an_interrupt", reporter) if @server
    end
  end

  def setup
    server
  end

  def the_server_ends_by_an_interrupt
    pidfile = server.in_directory("tmp/pids/server.pid")
    assert_equal server.pid.to_s, File.read(pidfile)
    assert_predicate server.stop(signal: "INT"), :success?
    assert_match(/Exiting$/, server.stdout)
  end

  def test_it_says_what_it_starts_and_where
    assert_match(/=> Booting NeverBlock\n=> Rails \S+ application starting in development/,
                 server.stdout)
    assert_equal "200", response("/up").code
    await("the log on standard output, as it is written") do
      server.stdout.include?('Started GET "/up"')
    end
  end

  def test_state_is_a_fibers_also_for_initializers
    expected = { "level" => "fiber", "initializers" => "fiber", "env" => "development" }
    assert_equal(expected, json("/state").slice("level", "initializers", "env"))
    refute_match(/isolation_level is :thread/, server.stderr)
  end

  def test_requests_that_are_inside_together_have_their_own_current_attributes
    await_reloaded
    Gate.open do |gate|
      asks = Array.new(TOGETHER) do |number|
        Thread.new { json("/held?port=#{gate.port}&user=user#{number}") }
      end
      Array.new(TOGETHER) { gate.arrival }.each(&:close)
      own = Array.new(TOGETHER) do |number|
        { "before" => "user#{number}", "after" => "user#{number}" }
      end
      assert_equal own, asks.map(&:value)
    end
  end

  # A reload waits for the requests that are inside, and what comes later waits for the reload.
  def test_a_file_that_changes_is_reloaded_under_concurrent_requests_and_none_sees_half_of_it
    Gate.open do |gate|
      seen = %w[second third].map do |word|
        await_reloaded
        asks = Array.new(8) { Thread.new { json("/greeting?port=#{gate.port}") } }
        inside = asks.map { gate.arrival }
        File.write(server.in_directory("app/models/greeting.rb"),
                   "class Greeting\n  TEXT = #{word.inspect}\nend\n")
        started = later_requests
        later = Array.new(8) { Thread.new { json("/greeting") } }
        await("one of them to be where classes are unloaded") { later_requests > started }
        inside.each(&:close)
        [asks, later].map { |threads| threads.map(&:value).uniq }
      end
      texts = seen.map { |rounds| rounds.flatten.map { |answer| answer.fetch("text") } }
      assert_equal [%w[first second], %w[second third]], texts
      assert(seen.flatten.all? { |answer| answer.fetch("same") }, seen.inspect)
    end
  end

  def test_an_action_may_hold_its_thread_and_says_so_once
    held = { "filter" => false, "action" => false }
    free = { "filter" => true, "action" => true }
    answers = %w[export report gentle plain export].map do |action|
      json("/modes/#{action}").except("thread")
    end
    assert_equal [held, held, free, free, held], answers
    2.times { assert_equal held, json("/of/here/exports").except("thread") } # which stays in place
    said = server.log.scan("allowblock: while ModesController#export waits").size
    assert_includes 1..self.class.processes, said, "of each process"
    assert_equal 0, server.log.scan("while ModesController#plain").size
  end

  # In development the first request that needs a controller loads it.
  def test_routes_that_lead_to_such_an_action_have_a_thread_of_their_own
    await("the routes to be told") { on_a_lane?("/modes/export") }
    blocking = %w[/exports/7 /exports/7.json /exports/7/ /modes/report]
    others = %w[/exports/new /modes/gentle /modes/plain /of/there/exports]
    assert(blocking.all? { |path| on_a_lane?(path) })
    assert(others.none? { |path| on_a_lane?(path) })
    refute on_a_lane?("/of/here/exports"), "path and method do not tell it from the route behind it"
    assert_match(%r{allowblock: method and path alone do not tell GET /of/:host/exports},
                 server.log)
    told = "allowblock: run on a thread of their own, one at a time in each process: "
    route = Regexp.escape("GET /exports/:id(.:format) (modes#export)")
    assert_match(/#{told}.*#{route}/, server.stderr)
  end

  def test_routes_are_told_again_when_code_is_loaded_again
    await("the routes to be told") { on_a_lane?("/modes/report") }
    path = server.in_directory("app/controllers/modes_controller.rb")
    text = File.read(path)
    File.write(path, text.sub(", :report", ""))
    await("the routes to be told again") { !on_a_lane?("/modes/report") }
    assert on_a_lane?("/exports/7")
  ensure
    File.write(path, text) if text
    await("the routes to be as they were") { on_a_lane?("/modes/report") }
  end

  def test_a_form_is_taken_with_its_token_and_session
    page = response("/form")
    token = page.body[/name="authenticity_token" value="([^"]+)"/, 1]
    form = URI.encode_www_form("authenticity_token" => token, "note[text]" => "from a form")
    answer = HTTPClient.post(uri("/form"), form,
                             "Cookie" => page["set-cookie"][/\A[^;]+/],
                             "Content-Type" => "application/x-www-form-urlencoded")
    assert_equal "302", answer.code, answer.body[0, 500]
    assert_match(%r{/form\?saved=\d+\z}, answer["location"])
  end

  def test_files_data_and_streamed_views_arrive_whole
    assert_equal File.read(server.in_directory("config.ru")), response("/file").body
    assert_equal "abc" * 100_000, response("/data").body
    streamed = response("/streamed")
    assert_equal "chunked", streamed["transfer-encoding"]
    assert_equal %w[0 1 2], streamed.body.scan(%r{<p>(\d)</p>}).flatten
    refute_match(/^\h+\r$/, streamed.body, "in chunks once, and not twice")
  end

  def test_rows_leave_as_they_are_made
    Gate.open do |gate|
      server.connect do |client|
        client.get("/rows?port=#{gate.port}")
        client.await_bytes("1,one\n")
        gate.arrival.close
        assert_equal "1,one\n2,two\n", client.response.body
      end
    end
  end

  def test_an_upload_goes_to_active_storage_and_comes_back
    bytes = Random.new(7).bytes(300_000)
    request = Net::HTTP::Post.new("/blobs")
    options = { filename: "paper.bin", content_type: "application/octet-stream" }
    request.set_form([["paper", bytes, options]], "multipart/form-data")
    blob = JSON.parse(http { |client| client.request(request) }.body)
    assert_equal 300_000, blob.fetch("bytes")
    file = response(URI(response(blob.fetch("path"))["location"]).request_uri)
    assert_equal ["200", bytes], [file.code, file.body.b]
    assert_equal bytes.sum.to_s, response("/blobs/#{blob.fetch("id")}").body
  end

  def test_jobs_of_the_async_adapter_run
    text = SecureRandom.hex
    assert_equal "202", response("/job?text=#{text}").code
    await("the job's record") { json("/records?text=#{text}") == 1 }
  end

  def test_a_live_action_streams_what_it_writes_when_it_writes_it_and_has_its_requests_state
    Gate.open do |gate|
      server.connect do |client|
        client.get("/live/parts?port=#{gate.port}&user=ada")
        client.await_bytes("one ada\n")
        arrival = gate.arrival
        refute_includes client.buffered, "two"
        arrival.close
        assert_equal "one ada\ntwo\nthree\n", client.response.body
      end
    end
  end

  def test_a_live_action_ends_when_its_client_has_left
    Gate.open do |gate|
      client = Wire::Client.open(server.url, receive_buffer_bytes: 4_096)
      client.get("/live/endless?port=#{gate.port}")
      client.await_bytes("xxxx")
      client.abort
      assert_equal "gone", gate.arrival.read
    end
  end

  # 64 MB is what it would write. A machine that stands still makes this easier, not harder.
  def test_a_live_action_waits_for_a_client_that_does_not_read
    Gate.open do |gate|
      client = Wire::Client.open(server.url, receive_buffer_bytes: 4_096)
      client.get("/live/counted?port=#{gate.port}")
      figures = gate.arrival
      written = figures.gets.to_i
      written = figures.readpartial(65_536).lines.last.to_i while figures.wait_readable(0.5)
      assert_operator written, :<, 48 * 1_048_576
      client.abort
    end
  end

  def test_a_fragment_that_one_request_has_made_is_there_for_all
    first = response("/fragment?text=first")
    assert_match(/made for first/, first.body,
                 "#{server.stderr}\n#{server.log.lines.last(30).join}")
    pages = Array.new(8) { Thread.new { response("/fragment?text=second").body } }.map(&:value)
    made = pages.all? do |page|
      page.include?("made for first") && page.include?("asked by second")
    end
    assert(made, pages.inspect)
  end

  def test_cable_speaks_through_the_hijacked_connection
    cable do |driver, messages, pump|
      pump.call { messages.any? { |message| message["type"] == "welcome" } }
      identifier = JSON.generate(channel: "EchoChannel")
      driver.text(JSON.generate(command: "subscribe", identifier: identifier))
      pump.call { messages.any? { |message| message["type"] == "confirm_subscription" } }
      data = JSON.generate(action: "say", text: "hello")
      driver.text(JSON.generate(command: "message", identifier: identifier, data: data))
      pump.call { messages.any? { |message| message.dig("message", "text") == "hello" } }
      assert_equal "200", response("/up").code
    end
  end

  private

  def server
    self.class.server
  end

  def on_a_lane?(path)
    json(path).fetch("thread").start_with?("nb-lane")
  end

  # @return [Array<Hash>] of any of the processes
  def states
    Array.new(4) { Thread.new { json("/state") } }.map(&:value)
  end

  # With Rails, whatever serves it, the request that has loaded changed code again keeps all others
  # of its process waiting until it ends. So it must be none that waits for others at a gate.
  def await_reloaded
    pids = []
    await("every process to have loaded the code that changed") do
      pids |= states.reject { |state| state.fetch("reloads") }.map { |state| state.fetch("pid") }
      pids.size == self.class.processes
    end
  end

  def later_requests
    server.log.scan(%r{Started GET "/greeting" }).size
  end

  def uri(path)
    URI("#{server.url}#{path}")
  end

  def http(&block)
    HTTPClient.open(uri("/"), read_timeout: Patience::SECONDS, &block)
  end

  def response(path)
    http { |client| client.get(path) }
  end

  def json(path)
    answer = response(path)
    assert_equal "200", answer.code, answer.body[0, 1_000]
    JSON.parse(answer.body)
  end

  def await(what, &)
    Patience.await(what, -> { server.stderr }, &)
  end

  # A WebSocket to /cable: its driver, what has come, and what reads until a condition holds.
  def cable
    socket = Over.socket(server.url)
    connection = Struct.new(:url, :socket) do
      def write(bytes) = socket.write(bytes)
    end.new("ws://#{uri("/").host}:#{uri("/").port}/cable", socket)
    driver = WebSocket::Driver.client(connection, protocols: %w[actioncable-v1-json])
    driver.set_header("Origin", server.url)
    messages = []
    driver.on(:message) { |event| messages << JSON.parse(event.data) }
    driver.start
    yield driver, messages, lambda { |&done|
      Timeout.timeout(Patience::SECONDS) do
        driver.parse(socket.readpartial(65_536)) until done.call
      end
    }
  rescue Timeout::Error
    flunk "after #{messages.inspect} nothing; #{server.stderr}\n#{server.log.lines.last(30).join}"
  ensure
    socket&.close
  end
end
