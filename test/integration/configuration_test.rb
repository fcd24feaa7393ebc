# frozen_string_literal: true

# What the configuration promises of a running process: who goes before whom, the pidfile, sockets,
# and the log.

require "json"
require "minitest/autorun"
require "socket"
require_relative "../support/gate"
require_relative "../support/http_client"
require_relative "../support/server_process"

class ConfigurationTest < Minitest::Test
  APP = <<~'RACKUP'
    run ->(env) do
      raise ArgumentError, "no\nsuch page" if env["PATH_INFO"] == "/bad"
      env["rack.errors"].puts("from the application") if env["PATH_INFO"] == "/talk"
      words = [env["neverblock.request_id"], " ", ENV["RACK_ENV"]]
      [200, { "content-type" => "text/plain" }, words]
    end
  RACKUP
  QUICK_S = Patience::SECONDS

  def setup
    @directory = Dir.mktmpdir
  end

  def teardown
    FileUtils.rm_rf(@directory)
  end

  def test_command_line_environment_file_and_default_in_that_order
    file = write("bind 'unix://#{@directory}/file.sock'\nfibers 11\n" \
                 "environment 'staging'\npidfile '#{@directory}/file.pid'\n")
    env = { "RACK_ENV" => nil, "RAILS_ENV" => nil, "PORT" => nil, "PIDFILE" => nil }
    serve("-C", file, binds: [], urls: 1, env: env) do |server|
      server.await_stderr(/staging, (2 workers with )?11 fibers( each)?$/)
      assert_equal "unix://#{@directory}/file.sock", server.urls[0]
      assert_path_exists "#{@directory}/file.pid"
    end
    env = env.merge("RACK_ENV" => "test", "PIDFILE" => "#{@directory}/env.pid")
    serve("-C", file, "-f", "12", env: env) do |server|
      server.await_stderr(/test, (2 workers with )?12 fibers( each)?$/)
      assert_equal %w[env.pid env.pid.control settings.rb], Dir.children(@directory).sort
      assert_match(/ test\z/, HTTPClient.get(URI(server.url)))
    end
    assert_equal ["settings.rb"], Dir.children(@directory)
  end

  def test_the_file_finds_the_environment_of_the_command_line
    file = write("fibers ENV.fetch('RACK_ENV') == 'production' ? 21 : 22\n")
    serve("-C", file, "-e", "production", env: { "RACK_ENV" => "test" }) do |server|
      server.await_stderr(/production, (2 workers with )?21 fibers( each)?$/)
    end
  end

  def test_limits_of_the_file_reach_the_io_loop
    serve("-C", write("limits { header_bytes 512 }\n")) do |server|
      response = HTTPClient.get_response(URI("#{server.url}/?#{"x" * 600}"))
      assert_includes %w[414 431], response.code
    end
  end

  def test_timeouts_of_the_file_reach_the_io_loop
    only_over :plain, :tls, "HTTP/2 has no half of a head: frames come whole"
    serve("-C", write("timeouts { header 0.2 }\n")) do |server|
      server.connect do |client|
        client.write("GET / HTTP/1.1\r\n")
        assert_equal 408, client.response.status
      end
    end
  end

  def test_the_pidfile_names_the_process_is_refused_to_a_second_one_and_replaced_after_a_crash
    path = "#{@directory}/server.pid"
    first = ServerProcess.new(APP, options: ["--pidfile", path]).start
    assert_equal "#{first.pid}\n", File.read(path)
    refused = assert_raises(ServerProcess::Failed) do
      ServerProcess.new(APP, options: ["--pidfile", path]).start
    end
    holder = /belongs to process #{first.pid} \(.*\), which runs; stop it first/
    assert_match(/^neverblock: the pidfile #{path} #{holder}/, refused.message)
    assert_equal "#{first.pid}\n", File.read(path)
    first.kill
    assert_path_exists path
    serve("--pidfile", path) { |second| assert_equal "#{second.pid}\n", File.read(path) }
    assert_empty Dir.children(@directory)
  ensure
    first&.kill
  end

  def test_a_start_that_fails_leaves_no_pidfile
    TCPServer.open("127.0.0.1", 0) do |holder|
      binds = ["http://127.0.0.1:#{holder.local_address.ip_port}"]
      pidfile = ["--pidfile", "#{@directory}/x.pid"]
      assert_raises(ServerProcess::Failed) do
        ServerProcess.new(APP, binds: binds, options: pidfile).start
      end
    end
    assert_empty Dir.children(@directory)
  end

  def test_a_server_that_leaves_without_its_requests_takes_its_pidfile_along
    Gate.open do |gate|
      app = "require 'socket'\nrun ->(_env) { #{gate.wait_expression}; loop {} }\n"
      server = ServerProcess.new(app, options: ["--pidfile", "#{@directory}/x.pid"]).start
      client = Thread.new do
        HTTPClient.get(URI(server.url))
      rescue StandardError
        nil # it is cut
      end
      gate.arrival.close
      Process.kill("TERM", server.pid)
      server.await_stderr(/draining/)
      Process.kill("INT", server.pid)
      assert_equal 1, server.wait(QUICK_S)&.exitstatus
      assert_empty Dir.children(@directory)
      client.join
    ensure
      server&.kill
    end
  end

  def test_one_process_calls_after_fork_once_before_it_serves_and_not_before_fork
    file = "#{@directory}/c.rb"
    File.write(file, "before_fork { $stderr.puts 'before' }\n" \
                     "after_fork { |number| $stderr.puts \"after \#{number}\" }\n")
    serve(options: ["-w", "1", "-C", file]) do |server|
      server.await_stderr(/before_fork \(.*c\.rb:1\) is not called: nothing is forked/)
      assert_equal ["after 0\n"], server.stderr.lines.grep(/\A(before|after) ?\d*$/)
    end
  end

  def test_a_hook_that_fails_is_told_once_with_its_place
    [1, 2].each do |workers|
      file = "#{@directory}/c.rb"
      File.write(file, "\nafter_fork { raise 'no database' }\n")
      server = ServerProcess.new(APP, options: ["-w", workers.to_s, "-C", file])
      assert_raises(ServerProcess::Failed) { server.start }
      assert_match(/\Aneverblock: after_fork has failed: \S+c\.rb:2: no database \(RuntimeError\)$/,
                   server.stderr)
      assert_equal 1, server.stderr.scan("no database").size, server.stderr
    end
  end

  def test_an_address_that_port_replaces_is_told_in_the_log
    file = "#{@directory}/c.rb"
    File.write(file, "bind 'unix://#{@directory}/x.sock'\n")
    env = { "PORT" => "0", "HOST" => "127.0.0.1" }
    ServerProcess.run(APP, binds: [], options: ["-C", file], env: env) do |server|
      server.await_stderr(/info: PORT replaces bind unix:\S+ of \S+ \(write -b, or unset PORT\)$/)
    end
  end

  def test_a_socket_left_behind_is_replaced_and_removed_by_its_maker
    path = "#{@directory}/x.sock"
    crashed = ServerProcess.new(APP, binds: ["unix://#{path}"]).start
    crashed.kill
    assert File.socket?(path)
    serve(binds: ["unix://#{path}?mode=0660", "http://127.0.0.1:0"]) do |server|
      assert_equal 0o660, File.stat(path).mode & 0o777
      UNIXSocket.open(path) do |socket|
        socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert_match(/\AHTTP\/1\.1 200 /, socket.read)
      end
      assert_equal "200", HTTPClient.get_response(URI(server.urls[1])).code
    end
    assert_empty Dir.children(@directory)
  ensure
    crashed&.kill
  end

  def test_a_json_log_is_json_in_every_line_with_the_requests_ids
    serve("--log-format", "json", "--log-requests") do |server|
      HTTPClient.get_response(URI("#{server.url}/bad?x=1"), "X-Request-Id" => "mine-1")
      HTTPClient.get_response(URI("#{server.url}/talk"), "X-Request-Id" => "not a sane one")
      server.stop
      entries = server.stderr.lines.map { |line| JSON.parse(line) }
      entries.each do |entry|
        assert_match(/\A\d{4}-.*Z\z/, entry["time"])
        assert_includes(%w[info warning error], entry["level"])
      end
      failed = entries.find { |entry| entry["exception"] }
      assert_equal ["error", "mine-1", "ArgumentError", "no\nsuch page"],
                   [*failed.values_at("level", "request_id"),
                    *failed["exception"].values_at("class", "message")]
      assert_match(/config\.ru:2/, failed["exception"]["backtrace"].first)
      requests = entries.select { |entry| entry["message"] == "request" }
      assert_equal [["GET", "/bad?x=1", 500], ["GET", "/talk", 200]],
                   (requests.map { |entry| entry.values_at("method", "target", "status") })
      assert_equal "mine-1", requests[0]["request_id"]
      assert_match(/\A\h{10,}\z/, requests[1]["request_id"])
      talk = ["rack.errors", "from the application"]
      assert_equal(1, entries.count { |entry| entry.values_at("source", "message") == talk })
    end
  end

  # The I/O loop's own lines are written in C and go through Ruby to become entries.
  def test_what_the_io_loop_says_is_json_too
    serve("--log-format", "json", wrap: ["sh", "-c", 'ulimit -n 80; exec "$@"', "sh"]) do |server|
      clients = Array.new(120) { TCPSocket.new("127.0.0.1", URI(server.url).port) }
      server.await_stderr(
        /"level":"warning".*no descriptor left for another connection.*"source":"io_loop"/
      )
      assert(server.stderr.lines.all? { |line| JSON.parse(line) })
    ensure
      clients&.each(&:close)
    end
  end

  def test_a_text_log_has_a_line_for_each_request_when_asked
    serve("--log-requests") do |server|
      id, = HTTPClient.get(URI("#{server.url}/a?b=c")).split
      request = %r{GET /a\?b=c#{Over.logged} 200 \d+\.\d+ ms 127\.0\.0\.1 #{id}}
      server.await_stderr(/^neverblock: \d{4}-\S+Z info: (worker \d: )?#{request}$/)
    end
    serve do |server|
      HTTPClient.get(URI("#{server.url}/a?b=c"))
      server.stop
      refute_includes server.stderr, "/a?b=c"
    end
  end

  MALFORMED = "malformed text of HTTP/1.1"
  ANSWERED = /127\.0\.0\.1 answered by the server/

  # Requests that the I/O loop answers => the entry after its time.
  REFUSED = {
    "GET /a\e[31m HTTP/1.1\r\nHost: x\r\n\r\n" =>
      /info: GET \/a%1B\[31m 400 #{ANSWERED}: a byte that may not be in a request target$/,
    "POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n" =>
      /info: POST \/up 413 #{ANSWERED}: /,
    "POST /c?x=1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n" =>
      /info: POST \/c\?x=1 400 #{ANSWERED}: a chunk size/,
    "GET /#{"x" * 70_000} HTTP/1.1\r\nHost: x\r\n\r\n" =>
      /info: GET \/x{195} 414 #{ANSWERED}: /
  }.freeze

  def test_requests_that_the_io_loop_answers_are_logged_too_when_asked
    only_over :plain, :tls, MALFORMED
    serve("--log-requests") do |server|
      REFUSED.each do |request, entry|
        answer_to(server, request)
        server.await_stderr(entry, seconds: QUICK_S)
      end
    end
  end

  def test_they_are_json_where_requests_are
    only_over :plain, :tls, MALFORMED
    serve("--log-requests", "--log-format", "json") do |server|
      answer_to(server, "nonsense\r\n\r\n")
      refused = /"status":400,"remote_addr":"127\.0\.0\.1","refused":"/
      server.await_stderr(/"message":"request","method":null,"target":"nonsense",#{refused}/,
                          seconds: QUICK_S)
    end
  end

  def test_they_are_not_logged_when_nobody_asked
    only_over :plain, :tls, MALFORMED
    serve do |server|
      REFUSED.each_key { |request| answer_to(server, request) }
      server.stop
      refute_includes server.stderr, "answered by the server"
    end
  end

  private

  # All of it: the client has the answer, so what belongs to it was written.
  def answer_to(server, request)
    server.connect do |client|
      client.write(request)
      client.take_to_end
    end
  end

  def write(text)
    File.join(@directory, "settings.rb").tap { |path| File.write(path, text) }
  end

  def serve(*options, binds: ["http://127.0.0.1:0"], urls: binds.size, **rest, &block)
    # One that is told its addresses by other means announces them all the same.
    if urls == binds.size
      return ServerProcess.run(APP, binds: binds, options: options, **rest, &block)
    end

    Told.run(APP, binds: [nil] * urls, options: options, **rest, &block)
  end

  # Its addresses are not on its command line.
  class Told < ServerProcess
    private

    def words(rackup)
      executable = File.join(ROOT, "exe/neverblock")
      [RbConfig.ruby, "-I", File.join(ROOT, "lib"), executable, rackup, *@options]
    end
  end
end
