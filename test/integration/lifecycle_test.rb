# frozen_string_literal: true

# A server process from its first line to its exit status.

require "minitest/autorun"
require_relative "../support/gate"
require_relative "../support/http_client"
require_relative "../support/server_process"

class LifecycleTest < Minitest::Test
  HELLO = "run ->(env) { [200, { 'content-type' => 'text/plain' }, " \
          "[\"hello \#{env['PATH_INFO']}\"]] }\n"
  QUICK_S = Patience::SECONDS

  def test_it_says_where_it_listens_once_for_each_bind_and_answers_there
    socket = File.join(Dir.mktmpdir, "app.sock")
    binds = ["http://127.0.0.1:0", "http://[::1]:0", "unix://#{socket}?mode=0660"]
    ServerProcess.run(HELLO, binds: binds) do |server|
      assert_match(%r{\A#{Over.scheme}://127\.0\.0\.1:[1-9]\d*\z}, server.urls[0])
      assert_match(%r{\A#{Over.scheme}://\[::1\]:[1-9]\d*\z}, server.urls[1])
      assert_equal "unix://#{socket}", server.urls[2]
      server.urls.each { |url| assert_equal "hello /x", get(url, "/x") }
      assert_equal 0o660, File.stat(socket).mode & 0o777
      server.stop
      assert_equal server.urls.map { |url| "Listening on #{url}\n" }, server.stdout.lines
    end
  end

  def test_a_handler_that_ends_its_thread_ends_the_process_with_1_and_a_line
    app = "run ->(env) { env['PATH_INFO'] == '/end' ? Thread.exit : [200, {}, ['here']] }\n"
    alone = ServerProcess.one_process("a worker that ends is replaced, not the process's end")
    ServerProcess.run(app, options: alone) do |server|
      assert_equal "here", get(server.url, "/")
      assert_equal "500", HTTPClient.get_response(URI("#{server.url}/end")).code
      assert_equal 1, server.wait(QUICK_S)&.exitstatus
      server.await_stderr(/executor 0 has failed.*Thread\.exit/)
    end
  end

  RAISED = <<~RACKUP
    run ->(env) do
      if env['PATH_INFO'].start_with?('/aim/')
        error = Object.const_get(env['PATH_INFO'].delete_prefix('/aim/'))
        Thread.new(Thread.current) do |executor|
          Thread.pass until executor.status == "sleep"
          executor.raise(error, "from outside")
        end
      end
      [200, {}, ["here"]]
    end
  RACKUP

  # Without workers, with them, and in a lane's thread.
  def test_what_is_raised_into_the_executors_thread_from_outside_costs_no_other_request
    lane = File.join(Dir.mktmpdir, "lane.rb")
    File.write(lane, "route '/*', lane: :thread\n")
    [[], %w[-w 2], ["-C", lane]].each do |options|
      ServerProcess.run(RAISED, options: options) do |server|
        %w[RuntimeError Exception NotImplementedError].each do |error|
          assert_equal "here", get(server.url, "/aim/#{error}")
          server.await_stderr(
            /thread from outside while it ran no request.*; requests go on: #{error}: from outside/
          )
          8.times { assert_equal "here", get(server.url, "/") }
        end
        assert_predicate server, :running?
        refute_match(/has failed|has ended/, server.stderr)
      end
    end
  end

  # Where nobody makes room, next to nothing is free after these collections.
  def test_the_heap_has_room_beside_the_application_for_what_requests_leave
    app = <<~RACKUP
      LOADED = Array.new(300_000) { Object.new }
      run ->(_env) do
        GC.start
        stat = GC.stat
        [200, {}, [(stat[:heap_available_slots] - stat[:heap_live_slots]).fdiv(LOADED.size).to_s]]
      end
    RACKUP
    alone = ServerProcess.one_process("two workers come next in the same test")
    [alone, %w[-w 2]].each do |options|
      ServerProcess.run(app, options: options) do |server|
        assert_operator Float(get(server.url, "/")), :>, 0.4
      end
    end
  end

  def test_its_first_log_lines_say_what_runs
    alone = ServerProcess.one_process("the first log line is that of one process")
    ServerProcess.run(HELLO, options: ["-e", "production", "-f", "7", *alone]) do |server|
      ruby = Regexp.escape(RUBY_VERSION)
      run = /process #{server.pid}, production, 7 fibers/
      server.await_stderr(/^neverblock: \S+ info: version \S+, ruby #{ruby}.*, #{run}$/)
    end
  end

  %w[TERM INT].each do |signal|
    define_method("test_#{signal} lets a request that runs end, takes no other, and ends with 0") do
      with_held_request do |server, client, held|
        Process.kill(signal, server.pid)
        server.await_stderr(/SIG#{signal}: draining/)
        await_refusal(server.url)
        refute server.wait(0), "ended before its request did"
        held.close
        response = client.value
        assert_equal ["200", "let go"], [response.code, response.body]
        assert_predicate server.wait(QUICK_S), :success?
      end
    end
  end

  # timeout(1) signals its child, and then its group with the child.
  def test_a_signal_that_comes_twice_at_once_lets_a_request_that_runs_end
    with_held_request do |server, client, held|
      2.times { Process.kill("TERM", server.pid) }
      server.await_stderr(/draining/)
      held.close
      assert_equal "let go", client.value.body
      assert_predicate server.wait(QUICK_S), :success?
      assert_match(/ info: stopped$/, server.stderr.lines.last)
      refute_includes server.stderr, "closing all connections"
    end
  end

  def test_a_second_signal_cuts_the_request_and_ends_with_1
    with_held_request do |server, client, _held|
      Process.kill("TERM", server.pid)
      server.await_stderr(/draining/)
      Process.kill("INT", server.pid)
      ended = client.value
      ended = Errno::ECONNRESET.new if ended.is_a?(EOFError)
      assert_kind_of SystemCallError, ended
      assert_equal 1, server.wait(QUICK_S)&.exitstatus
      server.await_stderr(/SIGINT again: closing all connections/)
      server.await_stderr(/info: stopped; 1 request was cut$/)
    end
  end

  WAITS = <<~'RACKUP'
    require "socket"

    PAIR = UNIXSocket.pair
    class Waits
      def sleep(_env) = super()
      def queue(_env) = Thread::Queue.new.pop
      def lock(_env) = Thread::Mutex.new.tap { |lock| taken(lock) }.lock
      def thread(_env) = Thread.new { Thread.stop }.join
      def socket(_env) = PAIR.first.read
      def enumerator(_env) = Enumerator.new { Kernel.sleep }.next
      def tasks(_env) = NB.all(-> { Kernel.sleep }, -> { noted("task") { Kernel.sleep } })
      def hijack(env) = env["rack.hijack"].call && Kernel.sleep
      def stream(_env) = [200, {}, ->(_) { noted("body") { Kernel.sleep } }]

      def taken(lock)
        Thread.new { lock.synchronize { Thread.stop } }
        Thread.pass until lock.locked?
      end

      def noted(name)
        $stderr.puts "#{name} inside"
        yield
      ensure
        $stderr.puts "#{name} ended"
      end
    end

    waits = Waits.new
    run ->(env) { waits.noted(env["PATH_INFO"]) { waits.public_send(env["PATH_INFO"][1..], env) } }
  RACKUP

  # Without workers, and with them.
  def each_with_waiting_requests(settings = "")
    own = ["-C", settings_file(settings)]
    paths = %w[/sleep /queue /lock /thread /socket /enumerator /tasks /stream]
    paths << "/hijack" unless Over.mode == :h2 # a connection has many requests there
    [own, [*own, "-w", "2"]].each do |options|
      with_waiting_requests(options, paths) do |server|
        yield server
        cut = (paths - ["/hijack"]).size # whose connection is the application's
        server.await_stderr(/info: stopped; #{cut} requests were cut$/)
        refute_match(/ (error|warning): /, server.stderr)
      end
    end
  end

  def with_waiting_requests(options, paths)
    names = paths + { "/tasks" => "task", "/stream" => "body" }.slice(*paths).values
    server = ServerProcess.new(WAITS, options: options).start
    clients = paths.map { |path| Wire::Client.new(server.url).tap { |client| client.get(path) } }
    names.each { |name| server.await_stderr(/^#{name} inside$/) }
    yield server, clients
    names.each { |name| server.await_stderr(/^#{name} ended$/) }
  ensure
    clients&.each(&:close)
    server&.kill
  end

  def settings_file(text)
    File.join(Dir.mktmpdir, "neverblock.rb").tap { |path| File.write(path, text) }
  end

  def test_a_second_signal_ends_requests_where_they_wait
    each_with_waiting_requests do |server|
      Process.kill("TERM", server.pid)
      server.await_stderr(/draining/)
      Process.kill("INT", server.pid)
      assert_equal 1, server.wait(QUICK_S)&.exitstatus
    end
  end

  def test_requests_that_outlast_the_shutdown_timeout_end_where_they_wait
    each_with_waiting_requests("timeouts { shutdown 0.05 }\n") do |server|
      Process.kill("TERM", server.pid)
      assert_equal 0, server.wait(QUICK_S)&.exitstatus
    end
  end

  def test_requests_of_replaced_workers_end_where_they_wait_when_their_time_is_over
    own = ["-C", settings_file("timeouts { retire 0.05 }\n"), "-w", "2"]
    paths = %w[/sleep /queue /lock /thread /socket /enumerator /tasks]
    with_waiting_requests(own, paths) do |server, clients|
      Process.kill("HUP", server.pid)
      assert_equal [500], clients.map { |client| client.response.status }.uniq
      server.await_stderr(/warning: worker . .* within 0.05 s \(timeouts retire\): they are ended/)
      refute_match(/ error: |SIGKILL|was killed/, server.stderr)
    end
  end

  # Only the I/O loop and the main thread can still act; the executor never comes back.
  def test_a_request_that_never_gives_way_cannot_keep_the_process_alive
    Gate.open do |gate|
      app = "require 'socket'\n" \
            "run ->(_env) { #{gate.wait_expression}; NB.uninterrupted { loop {} } }\n"
      server = ServerProcess.new(app).start
      client = Thread.new { response_of(server.url) }
      gate.arrival.close
      Process.kill("TERM", server.pid)
      server.await_stderr(/draining/)
      Process.kill("INT", server.pid)
      assert_equal 1, server.wait(QUICK_S)&.exitstatus
      assert_match(/running requests do not end: exiting without them/, server.stderr)
      assert_kind_of StandardError, client.value
    ensure
      server&.kill
    end
  end

  def test_clients_that_wait_to_be_accepted_when_it_stops_are_served
    only_over :plain, "a client waits for its handshake before it sends anything"
    ServerProcess.run(HELLO) do |server|
      assert_equal "hello /", get(server.url, "/")
      Process.kill("STOP", server.pid)
      clients = Array.new(300) do
        Wire::Client.new(server.url).tap { |client| client.get("/waits") }
      end
      Process.kill("TERM", server.pid)
      Process.kill("CONT", server.pid)

      assert_equal ["hello /waits"], clients.map { |client| client.response.body }.uniq
      clients.each(&:close)
    end
  end

  def test_an_idle_connection_does_not_hold_up_the_end
    server = ServerProcess.new(HELLO).start
    uri = URI(server.url)
    HTTPClient.open(uri) do |http|
      assert_equal "200", http.get("/").code
      Process.kill("TERM", server.pid)
      assert_predicate server.wait(QUICK_S), :success?
    end
  ensure
    server&.stop(expect: nil)
  end

  def test_signals_that_do_nothing_yet_say_so_and_the_server_goes_on
    only_over :plain, "with TLS, HUP reads the certificates again"
    alone = ServerProcess.one_process("one process says that it has no workers to change")
    ServerProcess.run(HELLO, options: alone) do |server|
      {
        "HUP" => "this server is one process",
        "USR1" => "HUP or `neverblock reload` loads new code",
        "TTIN" => "this server is one process",
        "TTOU" => "this server is one process"
      }.each do |signal, what|
        Process.kill(signal, server.pid)
        server.await_stderr(/^neverblock: \S+ info: SIG#{signal}: #{what}.*; nothing is done$/)
      end
      assert_equal "hello /", get(server.url, "/")
    end
  end

  def test_what_an_application_asked_to_run_at_the_end_runs_and_its_last_log_lines_are_written
    app = <<~RUBY
      at_exit { File.write(ENV.fetch("MARK"), "ran") }
      run ->(env) { env["rack.errors"].puts("last words"); [204, {}, []] }
    RUBY
    mark = File.join(Dir.mktmpdir, "mark")
    ServerProcess.run(app, env: { "MARK" => mark }) do |server|
      get(server.url, "/")
      server.stop
      assert_equal "ran", File.read(mark)
      assert_match(/^last words$/, server.stderr)
    end
  end

  # A killed server leaves its socket file behind.
  def test_a_stale_socket_is_replaced_and_a_live_one_refused
    socket = File.join(Dir.mktmpdir, "app.sock")
    bind = ["unix://#{socket}"]
    ServerProcess.new(HELLO, binds: bind).start.kill
    assert File.socket?(socket)
    ServerProcess.run(HELLO, binds: bind) do |server|
      assert_equal "hello /", get(server.url, "/")
      error = assert_raises(ServerProcess::Failed) { ServerProcess.new(HELLO, binds: bind).start }
      address = Regexp.escape(bind[0])
      assert_match(/^neverblock: cannot listen on #{address}: another server listens there/,
                   error.message)
      assert_equal "hello /", get(server.url, "/")
    end
  end

  def test_the_fibers_option_bounds_the_requests_inside
    Gate.open do |gate|
      app = <<~RUBY
        require "socket"
        $inside = $most = 0
        run(lambda do |env|
          next [200, {}, [$most.to_s]] if env["PATH_INFO"] == "/most"
          $most = [$most, $inside += 1].max
          #{gate.wait_expression}
          $inside -= 1
          [200, {}, ["ok"]]
        end)
      RUBY
      ServerProcess.run(app, options: ["-f", "2"]) do |server|
        at_once = 2 * Integer(ENV.fetch("NB_TEST_WORKERS", "1"), 10)
        clients = Array.new(at_once + 3) { Thread.new { get(server.url, "/") } }
        Array.new(at_once) { gate.arrival }.each(&:close)
        3.times { gate.arrival.close }
        assert_equal ["ok"] * (at_once + 3), clients.map(&:value)
        assert_equal "2", get(server.url, "/most")
      end
    end
  end

  private

  # @yieldparam server [ServerProcess]
  # @yieldparam client [Thread] its value is the response, or what went wrong
  # @yieldparam held [TCPSocket] lets the request go when closed
  def with_held_request
    Gate.open do |gate|
      app = "require 'socket'\nrun ->(_env) { #{gate.wait_expression}; [200, {}, ['let go']] }\n"
      server = ServerProcess.new(app).start
      client = Thread.new { response_of(server.url) }
      held = gate.arrival
      yield server, client, held
    ensure
      held&.close
      server&.kill
      client&.join(QUICK_S)
    end
  end

  def response_of(url)
    uri = URI(url)
    http = HTTPClient.to(uri)
    http.max_retries = 0
    http.get("/")
  rescue SystemCallError, IOError => e
    e
  end

  def get(url, path)
    Wire::Client.open(url) do |client|
      client.write("GET #{path} HTTP/1.1\r\nHost: x\r\n\r\n")
      client.response.body
    end
  end

  # The listener is closed by the I/O loop's own thread, some moments after the log says so.
  def await_refusal(url)
    uri = URI(url)
    Timeout.timeout(QUICK_S) do
      loop { TCPSocket.new(uri.host, uri.port).close && Thread.pass }
    end
  rescue Errno::ECONNREFUSED
    true
  end
end
