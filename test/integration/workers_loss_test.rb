# frozen_string_literal: true

# Workers that die, hang, grow, or never come up: what it costs, what is said, and who takes their
# place.

require_relative "../support/http_client"
require_relative "../support/workers_case"

class WorkersLossTest < WorkersCase
  # /held waits at a gate, /loop never gives way, everything else answers with the process id.
  def self.app(gate)
    <<~RUBY
      require "socket"
      run ->(env) do
        case env["PATH_INFO"]
        when "/held" then #{gate.wait_expression}
        when "/loop" then $gate = TCPSocket.open("127.0.0.1", #{gate.port}); loop {}
        when "/grow" then ($fat ||= []) << ("x" * 150_000_000)
        when "/crash" then Process.kill("SEGV", Process.pid); sleep
        when "/leave" then exit!(7)
        when "/thread" then Thread.exit
        when "/raise" then Thread.main.raise("boo") || sleep
        when "/close" then (3..100).each { |fd| IO.for_fd(fd).close rescue nil } || sleep
        end
        [200, {}, [Process.pid.to_s]]
      end
    RUBY
  end

  def test_what_a_killed_worker_ran_is_answered_502_and_others_notice_nothing
    with_app do |server, gate|
      held = Thread.new { get_response(server, "/held") }
      inside = gate.arrival
      pid = worker_at(inside)
      HTTPClient.open(server.url) do |idle|
        idle.get("/")
        Process.kill("KILL", pid)
        assert_equal "502", held.value.code
        assert_equal "200", idle.get("/").code
      end
      running = /it was running #{line("/held")}; 1 got 502/
      said = server.await_stderr(
        /error: worker (\d) \(process #{pid}\) was killed by SIGKILL; #{running}$/
      )
      number = said[1].to_i
      other = await_other(server, number, pid)
      server.await_stderr(/worker #{number} \(process #{other}\) serves/)
    ensure
      inside&.close
    end
  end

  { "/crash" => "killed by SIG", "/leave" => "has ended with status 7" }.each do |path, words|
    define_method("test_a_request_that_ends_its_process #{path}") do
      with_app do |server, _gate|
        assert_equal "502", get_response(server, path).code
        server.await_stderr(
          /worker \d \(process \d+\) (was )?#{words}.*; it was running #{line(path)}[; ]/
        )
        assert_equal "200", get_response(server).code
      end
    end
  end

  {
    "/raise" => "boo \\(RuntimeError\\)",
    "/close" => "(?:.*descriptor|.*stream)"
  }.each do |path, words|
    named = "test_a_request_that_disturbs_the_main_thread_ends_its_worker_without_a_stack_trace " \
            "#{path}"
    define_method(named) do
      with_app do |server, _gate|
        asked = Thread.new do
          get_response(server, path)
        rescue StandardError
          nil # /close closes what answers
        end
        pid = server.await_stderr(/error: worker \d \(process (\d+)\) has ended with status 1/)[1]
        asked.value
        reason = "its main thread was interrupted or has lost its descriptors: #{words}"
        assert_match(/error: worker \d: the worker ends, because #{reason}/, server.stderr)
        refute_match(/worker\.rb/, server.stderr)
        await("the worker's process ends", server) { gone?(pid) }
        assert_equal "200", get_response(server).code
      end
    end
  end

  def test_a_request_that_ends_the_executors_thread_ends_its_worker_alone
    with_app do |server, _gate|
      assert_equal "500", get_response(server, "/thread").code
      said = server.await_stderr(/error: worker (\d) \(process (\d+)\) has ended with status 1$/)
      number, pid = said.captures.map { |text| Integer(text, 10) }
      reason = /its executor has failed, and the worker ends/
      server.await_stderr(
        /error: worker #{number}: #{reason}: NeverBlock::Error: its thread was ended/
      )
      await_other(server, number, pid)
      assert_equal "200", get_response(server).code
    end
  end

  def test_a_hundred_workers_are_lost_one_after_the_other_and_nothing_is_left_open
    with_app do |server, _gate|
      get(server)
      before = server.open_descriptors
      mold = processes(server, "mold").first
      100.times do
        pid = pid_from(server)
        Process.kill("KILL", pid)
        await("#{pid} to be replaced", server) do
          pids = processes(server, "worker")
          pids.size == 2 && !pids.include?(pid)
        end
      end
      await("all to serve", server) { server.stderr.scan(/ serves$/).size >= 100 }
      await("all descriptors to be closed", server) { server.open_descriptors <= before }
      assert_equal [mold], processes(server, "mold")
      assert_operator Dir.children("/proc/#{mold}/fd").size, :<=, 16
    end
  end

  def test_a_mold_that_is_killed_is_replaced_and_workers_of_the_lost_one_are_still_seen_to_end
    with_app do |server, _gate|
      mold = processes(server, "mold").first
      Process.kill("KILL", mold)
      await("another mold", server) { (processes(server, "mold") - [mold]).first }
      lost = /the process that workers are forked from \(#{mold}\) was killed by SIGKILL/
      server.await_stderr(/#{lost}; its workers continue, another one is started/)
      pid = pid_from(server)
      Process.kill("KILL", pid)
      number = server.await_stderr(/worker (\d) \(process #{pid}\) was killed by SIGKILL/)[1].to_i
      await_other(server, number, pid)
      refute(File.exist?("/proc/#{pid}") && File.read("/proc/#{pid}/status").include?("zombie"))
    end
  end

  def test_a_worker_that_dies_while_its_mold_stands_still_is_replaced_when_that_goes_on
    with_app do |server, gate|
      mold = processes(server, "mold").first
      held = Thread.new { get_response(server, "/held") }
      pid = worker_at(inside = gate.arrival)
      Process.kill("STOP", mold)
      Process.kill("KILL", pid)
      assert_equal "502", held.value.code
      number = server.await_stderr(/error: worker (\d) \(process #{pid}\) was killed by SIGKILL/)[1]
      Process.kill("CONT", mold)
      server.await_stderr(/worker #{number} \(process \d+\) serves/)
    ensure
      Process.kill("CONT", mold) if mold
      inside&.close
    end
  end

  def test_a_worker_that_never_gives_way_is_replaced_and_says_where_it_was
    with_app("timeouts { worker 0.5 }") do |server, gate|
      client = Thread.new { get_response(server, "/loop") }
      gate.arrival.close
      assert_equal "502", client.value.code
      stuck = /has run one request for longer than 0\.5 s without a pause \(timeouts worker\)/
      server.await_stderr(
        /#{stuck} and is replaced; it runs #{line("/loop")}; at\n.*config\.ru:\d+/m
      )
      server.await_stderr(/was killed by SIGKILL; it was stuck; it was running GET/)
      # On a machine that stands still, the next may seem stuck too.
      await("an answer", server) { get_response(server).code == "200" }
    end
  end

  def test_a_worker_that_stands_still_is_replaced_too
    with_app("timeouts { worker 0.5 }") do |server, gate|
      client = Thread.new { get_response(server, "/loop") }
      Process.kill("STOP", worker_at(inside = gate.arrival))
      assert_equal "502", client.value.code
      server.await_stderr(/its place is unknown/)
    ensure
      inside&.close
    end
  end

  def test_a_worker_that_has_grown_too_large_retires_without_an_error
    with_app("limits { worker_bytes 134_217_728 }") do |server, _gate|
      pid = pid_from(server, "/grow")
      large = /has \d+ MB, more than 128 MB/
      number = server.await_stderr(/info: worker (\d) \(process #{pid}\) #{large}/)[1].to_i
      await_other(server, number, pid)
      await("the large one to be gone", server) { gone?(pid) }
      refute_match(/error/, server.stderr)
    end
  end

  def test_a_worker_that_crashes_at_boot_is_tried_again_and_the_port_answers_503_meanwhile
    Dir.mktmpdir do |directory|
      fixed = File.join(directory, "fixed")
      app = "Process.kill('SEGV', Process.pid) && sleep unless File.exist?(#{fixed.inspect})\n" \
            "#{HELLO}"
      port = TCPServer.open("127.0.0.1", 0) { |socket| socket.local_address.ip_port }
      loader = /the process that loads the application was killed by SIG\w+/
      worker = /worker \d \(process \d+\) was killed by SIG\w+/
      {
        "preload_app true" => /#{loader} before it had loaded it.*next attempt is in \d+ s/,
        "preload_app false" => /#{worker} before it was ready; the next attempt is in \d+ s/
      }.each do |setting, words|
        FileUtils.rm_f(fixed)
        file = File.join(directory, "neverblock.rb")
        File.write(file, setting)
        binds = ["http://127.0.0.1:#{port}"]
        server = ServerProcess.new(app, binds: binds, options: ["-w", "2", "-C", file])
        starting = Thread.new { server.start }
        response = await("a 503") { busy(port) }
        assert_operator response["retry-after"].to_i, :>, 0
        server.await_stderr(words)
        File.write(fixed, "")
        starting.value
        assert_match(/\A\d+\z/, get(server))
      ensure
        server.stop
      end
    end
  end

  # They came while it was loaded, and have left since; what they asked for waits.
  def test_connections_that_took_all_descriptors_make_way_for_the_workers
    only_over :plain, "a client that leaves before its handshake holds no descriptor"
    Dir.mktmpdir do |directory|
      loaded = File.join(directory, "loaded")
      app = "sleep 0.01 until File.exist?(#{loaded.inspect})\n#{HELLO}"
      port = TCPServer.open("127.0.0.1", 0) { |socket| socket.local_address.ip_port }
      server = ServerProcess.new(
        app, binds: ["http://127.0.0.1:#{port}"], options: ["-w", "2"],
        wrap: ["sh", "-c", 'ulimit -n 128 && exec "$@"', "sh"]
      ).launch
      await("its port", server) { connects?(port) }
      clients = Array.new(200) do
        TCPSocket.new("127.0.0.1", port).tap do |client|
          client.write("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
        end
      end
      clients.each(&:close)
      server.await_stderr(/no descriptor left for another connection/)
      File.write(loaded, "")
      await("both workers", server) do
        server.stdout.include?("Listening on") && processes(server, "worker 1 ").any?
      end
      # 503 as long as those that have left hold all places.
      await("an answer", server) do
        HTTPClient.get(URI("#{Over.scheme}://127.0.0.1:#{port}/")).match?(/\A\d+\z/)
      rescue SystemCallError, EOFError
        false
      end
    ensure
      server&.stop
    end
  end

  private

  # @return [String] of a request, for a pattern, as the log tells it
  def line(path)
    Regexp.escape("GET #{path} #{Over.protocol}")
  end

  def with_app(file = nil)
    Gate.open do |gate|
      Dir.mktmpdir do |directory|
        path = File.join(directory, "neverblock.rb")
        File.write(path, file.to_s)
        serve(self.class.app(gate), options: ["-C", path]) { |server| yield server, gate }
      end
    end
  end

  # The process at the other end of a connection to the gate.
  def worker_at(socket)
    ends = [socket.remote_address, socket.local_address]
      .map { |address| format(":%04X", address.ip_port) }
    sockets = File.readlines("/proc/net/tcp").drop(1).map(&:split)
    inode = sockets.find do |_, local, remote|
      local.end_with?(ends[0]) && remote.end_with?(ends[1])
    end[9]
    link = Dir.glob("/proc/[0-9]*/fd/*").find do |path|
      File.readlink(path) == "socket:[#{inode}]"
    rescue StandardError
      false # processes come and go
    end
    link[%r{\d+}].to_i
  end

  def connects?(port)
    TCPSocket.new("127.0.0.1", port).close
    true
  rescue SystemCallError
    false
  end

  def busy(port)
    response = HTTPClient.get_response(URI("#{Over.scheme}://127.0.0.1:#{port}/"))
    response if response.code == "503"
  rescue SystemCallError
    nil
  end
end
