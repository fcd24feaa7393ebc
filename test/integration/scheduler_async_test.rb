# frozen_string_literal: true

# `scheduler :async`: applications that are written with Async. Each request is a task of the real
# gem, in one process and behind a front.

require "json"
require "open3"
require "tmpdir"

require_relative "../support/gate"
require_relative "../support/gem_bundle"
require_relative "../support/http_client"
require_relative "../support/patience"
require_relative "../support/server_process_case"
require_relative "../support/workers_case"

module SchedulerAsyncTests
  BUNDLE = GemBundle.new(File.expand_path("async.gemfile", __dir__), "bundle-async")
  APP = <<~RACKUP
    require "#{File.expand_path("../support/app_async", __dir__)}"
    run AsyncApp.new
  RACKUP
  SETTINGS = <<~RUBY
    scheduler :async
    cancel_on_disconnect true
    executor { stall_ms 50 }
    route "/upload", input: :stream
  RUBY
  MANY = 40

  def self.included(base)
    base.extend(ClassMethods)
  end

  module ClassMethods
    def app = APP

    def server_options
      { env: BUNDLE.env.merge("RUBYOPT" => "-rbundler/setup"),
        options: [*words, "--admin", "http://127.0.0.1:0"] }
    end

    def settings
      @settings ||= File.join(Dir.mktmpdir("neverblock-async"), "neverblock.rb").tap do |path|
        File.write(path, SETTINGS)
      end
    end

    def words = ["-C", settings]
  end

  # @return what the application's method of that name has returned
  def value(name, tag: new_tag, **query)
    words = { tag: tag, **query }.map { |key, word| "#{key}=#{word}" }
    response = ask("/#{name}?#{words.join("&")}")
    assert_equal 200, response.status, response.body
    JSON.parse(response.body)
  end

  # Requests on connections of their own, all sent before the first answer is read.
  # @yield what is done when all are sent
  # @return [Array<Wire::Response>]
  def at_once(*targets)
    clients = targets.map { |target| Wire::Client.open(server.url).tap { |it| it.get(target) } }
    yield if block_given?
    clients.map(&:response)
  ensure
    clients&.each(&:close)
  end

  def test_a_request_is_a_task_of_async_until_its_last_callback
    tag = new_tag
    assert_equal ["Async::Task", true, true, true], value("task", tag: tag)
    assert_equal true, events.await("finished", tag).first["same"]
  end

  RESULTS = {
    "children" => [[0, 1, 2], [0, 10, 20]],
    "barrier" => 2,
    "semaphore" => [[0, 1, 2, 3, 4, 5], 2],
    "notification" => %w[told told],
    "limited_queue" => [0, 1, 2, 3],
    "with_timeout" => ["Async::TimeoutError", true],
    "timeouts_of_ruby" => "Timeout::Error",
    "stop_child" => %w[ensured nil],
    "stop_parent" => ["parent ensured"],
    "defer_stop" => %w[whole],
    "sync" => [true, "Integer"],
    "enumerator" => [1, 2],
    "threads" => ["value", true],
    "fibers" => ["in its wait", false],
    "verbs" => [[1, 2, "Async::Task"], false, "NeverBlock::DeadlineExceeded"],
    "forked" => [[true, true, 0], "shell"]
  }.freeze

  RESULTS.each do |name, expected|
    define_method(:"test_of_async_in_a_request_#{name}") do
      assert_equal expected, value(name)
    end
  end

  def test_a_request_may_stop_its_own_task
    assert_equal 500, ask("/stop_itself").status
    assert_equal 2, value("barrier")
  end

  def test_a_child_that_fails_ends_nobody_else
    tag = new_tag
    assert_equal "beside", value("spoiled", tag: tag)
    server.await_stderr(/#{tag}/)
    server.await_stderr(/NotImplementedError: #{tag} too/)
    assert_equal 2, value("barrier")
  end

  def test_a_body_is_streamed_with_what_async_has
    tag = new_tag
    assert_equal "one two three in a task", ask("/stream?tag=#{tag}").body
    events.await("streamed", tag)
  end

  def test_a_large_body_waits_for_its_client
    response = ask("/large?count=200")
    assert_equal 200 * 65_536, response.body.bytesize
  end

  def test_a_child_reads_a_body_while_it_comes
    connect do |client|
      client.write("POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: 200000\r\n\r\n")
      4.times { client.write("x" * 50_000) }
      assert_equal "200000", client.response(method: "POST").body
    end
  end

  def test_a_child_has_the_hijacked_connection
    only_over :plain, :tls, "HTTP/2 has no hijack"
    connect do |client|
      client.get("/hijack")
      client.write("hello\n")
      assert_includes client.take_to_end.first, "HELLO\n"
    end
  end

  def test_a_client_that_leaves_ends_a_request_that_waits_in_async
    tag = new_tag
    connect do |client|
      client.get("/held?tag=#{tag}")
      events.await("held", tag)
    end
    assert_equal "NeverBlock::ClientGone", events.await("ended", tag).first["by"]
  end

  # A Condition of newer versions has a Thread::Queue.
  def test_fibers_json_tells_what_requests_wait_for
    tag = new_tag
    connect do |client|
      client.get("/held?tag=#{tag}")
      events.await("held", tag)
      Patience.await("the request's wait") do
        fibers("/held").any? { |fiber| %w[fibers queue].include?(fiber.dig("waits_for", "kind")) }
      end
    end
    events.await("ended", tag)
  end

  private

  def fibers(path)
    document = JSON.parse(HTTPClient.get(URI("#{server.admin_url}/fibers.json")))
    document.fetch("fibers").select { |fiber| fiber["path"] == path }
  end
end

class SchedulerAsyncTest < ServerProcessCase
  include SchedulerAsyncTests

  def test_many_requests_are_inside_at_once
    tag = new_tag
    answers = at_once(*["/meet?count=#{MANY}&tag=#{tag}"] * MANY)
    assert_equal [MANY.to_s], answers.map(&:body).uniq
  end

  def test_the_client_of_async_calls_the_same_server
    only_over :plain, "its client trusts no certificate of the tests"
    assert_equal [3, 3, 3], value("internet", port: URI(server.url).port)
  end

  def test_a_request_that_computes_is_a_stall
    Dir.mktmpdir do |directory|
      File.mkfifo(fifo = File.join(directory, "fifo"))
      tag = new_tag
      answers = at_once("/compute?tag=#{tag}&fifo=#{fifo}") do
        events.await("computes", tag)
        waiting = Thread.new { ask("/process") }
        server.await_stderr(%r{GET /compute .* has kept its executor})
      ensure
        File.write(fifo, "over")
        assert_equal 200, waiting.value.status
      end
      assert_equal "\"over\"", answers.first.body
    end
  end
end

class SchedulerAsyncWorkersTest < ServerProcessCase
  include SchedulerAsyncTests

  def self.words = [*super, "-w", "2"]
end

# How requests, servers and workers end.
class SchedulerAsyncEndsTest < WorkersCase
  ENV_OF_CHILDREN = SchedulerAsyncTests::BUNDLE.env.merge("RUBYOPT" => "-rbundler/setup")

  def test_a_deadline_ends_a_request_that_waits_in_async
    settings = "scheduler :async\ntimeouts { request 0.1 }\n"
    Dir.mktmpdir do |directory|
      File.write(file = File.join(directory, "neverblock.rb"), settings)
      serve(options: ["-C", file]) do |server|
        assert_equal "503", get_response(server, "/held?tag=late").code
        by = AppEvents::Reader.new(@events).await("ended", "late").first["by"]
        assert_equal "NeverBlock::DeadlineExceeded", by
      end
    end
  end

  [[], %w[-w 2]].each do |words|
    define_method(:"test_a_stop_waits_for_requests_and_stops_tasks_that_are_left#{words.join}") do
      Gate.open do |gate|
        serve(options: ["--scheduler", "async", *words]) do |server|
          assert_equal '"answered"', get(server, "/left_behind?tag=left")
          held = Array.new(2) { Thread.new { get(server, "/gate?port=#{gate.port}") } }
          inside = Array.new(2) { gate.arrival }
          stopping = Thread.new { server.stop }
          server.await_stderr(/draining/)
          inside.each(&:close)
          assert_equal ['"let go"'] * 2, held.map(&:value)
          assert_predicate stopping.value, :success?
          AppEvents::Reader.new(@events).await("stopped", "left")
        end
      end
    end
  end

  def test_a_reload_serves_new_code
    serve(options: %w[--scheduler async -w 2]) do |server|
      assert_equal "2", get(server, "/barrier")
      File.write(server.in_directory("config.ru"), <<~RACKUP)
        require "async"
        run ->(_env) { [200, {}, [Async { Async::Task.current.class.name }.wait]] }
      RACKUP
      Process.kill("HUP", server.processes.first)
      await("new code", server) { get(server, "/barrier") == "Async::Task" }
    end
  end

  def test_without_the_gem_a_line_says_what_to_write
    _, error, status = Open3.capture3(*ServerProcess::NEVERBLOCK, "--scheduler", "async", "-p", "0",
                                      "-C", "-", stdin_data: "", chdir: hello)
    refute_predicate status, :success?
    assert_equal <<~TEXT, error
      neverblock: scheduler async needs the gem async: write `gem "async", "~> 2.24"` in the Gemfile, and run bundle install
    TEXT
  end

  private

  def serve(options:, &block)
    @events = File.join(Dir.mktmpdir("neverblock-events"), "events")
    env = ENV_OF_CHILDREN.merge("NB_TEST_EVENTS" => @events)
    ServerProcess.run(SchedulerAsyncTests::APP, options: options, env: env, &block)
  ensure
    FileUtils.rm_rf(File.dirname(@events))
  end

  def hello
    Dir.mktmpdir("neverblock-test").tap do |directory|
      File.write(File.join(directory, "config.ru"), HELLO)
    end
  end
end
