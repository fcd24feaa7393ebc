# frozen_string_literal: true

# A front, a mold and workers, from the first line to the exit status.

require_relative "../support/workers_case"

class WorkersLifecycleTest < WorkersCase
  def test_it_serves_from_workers_and_leaves_no_process_behind
    serve(workers: 3, options: %w[-e production -f 7]) do |server|
      front, mold, *workers = %w[front mold worker].flat_map { |role| processes(server, role) }
      assert_equal [server.pid, 3], [front, workers.size]
      assert_includes workers, pid_from(server)
      server.await_stderr(
        /info: version \S+, .*process #{front}, production, 3 workers with 7 fibers each$/
      )
      assert_equal ["Listening on #{server.url}\n"], server.stdout.lines
      server.stop
      [mold, *workers].each { |pid| assert gone?(pid), pid }
      refute_match(/error|warning/, server.stderr)
    end
  end

  def test_the_application_is_loaded_once_and_not_in_the_front
    app = "$stderr.puts \"loaded by \#{Process.pid}\"\n#{HELLO}"
    serve(app, workers: 3) do |server|
      assert_equal processes(server, "mold"),
                   server.stderr.scan(/loaded by (\d+)/).flatten.map(&:to_i)
    end
  end

  def test_without_preload_app_each_worker_loads_it
    app = "$stderr.puts \"loaded by \#{Process.pid}\"\n#{HELLO}"
    serve(app, options: ["-C", config("preload_app false")]) do |server|
      assert_equal processes(server, "worker").sort,
                   server.stderr.scan(/loaded by (\d+)/).flatten.map(&:to_i).sort
    end
  end

  def test_hooks_are_called_where_they_belong
    hooks = <<~'RUBY'
      before_fork { $stderr.puts "before in #{Process.pid}" }
      after_fork { |number| $stderr.puts "after #{number} in #{Process.pid}" }
    RUBY
    serve(options: ["-C", config(hooks)]) do |server|
      mold = processes(server, "mold").first
      assert_equal ["before in #{mold}"] * 2, server.stderr.scan(/before in \d+/)
      after = [0, 1].map do |number|
        "after #{number} in #{processes(server, "worker #{number} ").first}"
      end
      assert_equal after, server.stderr.scan(/after \d in \d+/).sort
    end
  end

  def test_what_an_application_asked_to_run_at_the_end_runs_in_each_worker_and_nowhere_else
    app = "at_exit { $stderr.puts \"left \#{Process.pid}\" }\n#{HELLO}"
    serve(app) do |server|
      workers = processes(server, "worker")
      server.stop
      assert_equal workers.sort, server.stderr.scan(/left (\d+)/).flatten.map(&:to_i).sort
    end
  end

  def test_what_hangs_at_the_end_is_left_behind
    hangs = "at_exit { sleep }\n#{HELLO}"
    serve(hangs, options: ["-C", config("timeouts { shutdown 0 }")]) do |server|
      assert_predicate server.stop, :success?
      late = /at_exit blocks of the application took longer than 5 s/
      told = /#{late}: the worker exits without them; timeouts \{ shutdown \} is their limit/
      assert_match(/warning: worker \d: #{told}/, server.stderr)
    end
  end

  def test_chance_is_another_in_each_worker
    app = "srand(1)\nrequire 'socket'\n" \
          "run ->(env) { [200, {}, [\"\#{Process.pid} \#{$number ||= rand(1 << 62)}\"]] }\n"
    serve(app) do |server|
      numbers = {}
      await("an answer of each worker", server) do
        pid, number = get(server).split
        numbers[pid] = number
        numbers.size == 2
      end
      assert_equal 2, numbers.values.uniq.size
    end
  end

  def test_entries_of_the_log_say_whose_they_are
    serve("run ->(env) { raise 'oh' }\n") do |server|
      get(server)
      server.await_stderr(/^neverblock: \S+Z error: worker [01]: GET .* failed: RuntimeError: oh$/)
    end
    serve("run ->(env) { raise 'oh' }\n", options: %w[--log-format json]) do |server|
      get(server)
      server.await_stderr(/"level":"error","pid":\d+,"worker":[01],"message":"GET/)
    end
  end

  %w[TERM INT].each do |signal|
    define_method("test_#{signal} lets a request that runs end, takes no other, and ends with 0") do
      assert_one_drain(signal) { |server| Process.kill(signal, server.pid) }
    end
  end

  # As a terminal and a service manager do.
  def test_a_signal_that_all_processes_get_is_one_drain
    assert_one_drain { |server| term_all(server) }
  end

  # timeout(1) signals its child, and then its group with the child.
  def test_a_signal_that_all_processes_get_and_the_front_twice_is_one_drain
    server = assert_one_drain do |one|
      Process.kill("TERM", one.pid)
      term_all(one)
    end
    assert_match(/ info: stopped$/, server.stderr.lines.last)
  end

  def test_a_second_signal_cuts_the_request_and_ends_with_1
    with_held_request do |server, client, _held|
      workers = processes(server, "worker")
      { "TERM" => /draining/, "INT" => /closing all connections/ }.each do |signal, said|
        Process.kill(signal, server.pid)
        server.await_stderr(said)
      end
      assert_kind_of StandardError, client.value
      assert_equal 1, server.wait(Patience::SECONDS)&.exitstatus
      workers.each { |pid| await("#{pid} to be gone") { gone?(pid) } }
    end
  end

  def test_a_request_that_never_gives_way_cannot_keep_the_processes_alive
    Gate.open do |gate|
      serve("require 'socket'\nrun ->(_env) { #{gate.wait_expression}; loop {} }\n") do |server|
        workers = processes(server, "worker")
        client = Thread.new { attempt { get_response(server) } }
        gate.arrival.close
        { "TERM" => /draining/, "INT" => /closing all connections/ }.each do |signal, said|
          Process.kill(signal, server.pid)
          server.await_stderr(said)
        end
        assert_equal 1, server.wait(Patience::SECONDS)&.exitstatus
        assert_kind_of StandardError, client.value
        workers.each { |pid| await("#{pid} to be gone") { gone?(pid) } }
      end
    end
  end

  def test_a_front_that_is_killed_takes_all_with_it
    serve do |server|
      others = processes(server, "mold") + processes(server, "worker")
      assert_equal 3, others.size
      server.kill
      others.each { |pid| await("#{pid} to be gone") { gone?(pid) } }
    end
  end

  def test_a_front_that_is_killed_takes_with_it_what_hangs_while_it_starts
    {
      "after_fork { hang }" => "worker",
      "preload_app false" => "worker",
      "preload_app true" => "mold"
    }.each do |line, role|
      gate = Gate.new
      hook = line.sub("hang", gate.wait_expression)
      app = hook == line ? "#{gate.wait_expression}\n" : HELLO
      server = ServerProcess.new(app, options: ["-w", "2", "-C", config(hook)]).launch
      inside = gate.arrival
      hanging = processes(server, role)
      refute_empty hanging
      server.kill
      hanging.each { |pid| await("#{line}: #{pid} to be gone") { gone?(pid) } }
    ensure
      server&.kill
      inside&.close
      gate&.close
    end
  end

  def test_an_application_that_traps_sigterm_while_it_is_loaded_does_not_end_its_worker_by_it
    %w[true false].each do |preload|
      app = "trap('TERM') { exit!(9) }\n#{HELLO}"
      serve(app, options: ["-C", config("preload_app #{preload}")]) do |server|
        old = processes(server, "worker 1").first
        Process.kill("TERM", old)
        server.await_stderr(/worker 1 \(process #{old}\) got SIGTERM: another worker replaces it/)
        await("the old worker ends", server) { gone?(old) }
        refute_match(/status 9/, server.stderr)
      end
    end
  end

  def test_a_hook_that_calls_exit_is_a_failed_start_in_one_line
    %w[before_fork after_fork].each do |hook|
      server = ServerProcess.new(HELLO, options: ["-w", "2", "-C", config("#{hook} { exit 3 }")])
      error = assert_raises(ServerProcess::Failed) { server.start }
      assert_match(/exit 1/, error.message)
      assert_match(/\Aneverblock: exit\(3\) was called at \S+:1:in [`'](Kernel#)?exit'\n\z/,
                   server.stderr)
    end
  end

  def test_a_hook_that_raises_ends_the_start_whatever_its_at_exit_block_waits_for
    hook = "after_fork { at_exit { sleep }; raise 'no database' }"
    server = ServerProcess.new(HELLO, options: ["-w", "2", "-C", config(hook)])
    assert_raises(ServerProcess::Failed) { server.start }
    assert_match(/at_exit blocks of the application took longer than 5 s/, server.stderr)
    assert_match(/^neverblock: .*no database/, server.stderr)
  end

  def test_an_application_that_keeps_all_descriptors_is_a_failed_start_in_one_line
    app = "$kept = []\n1000.times { $kept << (File.open('/dev/null') rescue break) }\n#{HELLO}"
    few = ["sh", "-c", 'ulimit -n 200; exec "$@"', "sh"]
    server = ServerProcess.new(app, options: %w[-w 2], wrap: few)
    assert_raises(ServerProcess::Failed) { server.start }
    mold = /the process that has loaded the application/
    assert_match(/\Aneverblock: #{mold} has no descriptors left for a worker: .*\n\z/,
                 server.stderr)
  end

  def test_an_application_that_cannot_be_loaded_is_a_failed_start
    { "raise 'no such thing'\n" => /\Aneverblock: config\.ru:1: no such thing \(RuntimeError\)\n\z/,
      "exit 3\n" => /\Aneverblock: exit\(3\) was called at config\.ru:1 while .* was loaded\n\z/,
      "run(\n" => /\Aneverblock: config\.ru:\d: syntax error.*\n\z/ }.each do |app, line|
      [[], ["-C", config("preload_app false")]].each do |options|
        server = ServerProcess.new(app, options: ["-w", "2", *options])
        error = assert_raises(ServerProcess::Failed) { server.start }
        assert_match(/exit 1/, error.message)
        assert_match line, server.stderr unless app.start_with?("exit") && options.any?
      end
    end
  end

  def test_a_busy_port_is_told_before_anything_is_loaded
    TCPServer.open("127.0.0.1", 0) do |other|
      binds = ["http://127.0.0.1:#{other.local_address.ip_port}"]
      app = "File.write('loaded', '')\n#{HELLO}"
      server = ServerProcess.new(app, binds: binds, options: %w[-w 2])
      error = assert_raises(ServerProcess::Failed) { server.start }
      assert_match(/is busy/, error.message)
    end
  end

  def test_a_worker_more_and_a_worker_less
    serve do |server|
      Process.kill("TTIN", server.pid)
      third = await("a third worker", server) { processes(server, "worker 2 ").first }
      server.await_stderr(/3 workers from now on/)
      server.await_stderr(/worker 2 \(process #{third}\) serves/)
      Process.kill("TTOU", server.pid)
      await("the third to be gone", server) { gone?(third) }
      refute_match(/error/, server.stderr)
    end
  end

  def test_sigterm_at_a_worker_puts_another_in_its_place_first
    serve do |server|
      old = processes(server, "worker 1 ").first
      Process.kill("TERM", old)
      await_other(server, 1, old)
      await("the old one to be gone", server) { gone?(old) }
      refute_match(/error/, server.stderr)
      assert_match(/\A\d+\z/, get(server))
    end
  end

  def test_threads_that_do_not_live_in_workers_are_named
    serve("Thread.new { sleep }.name = 'ticker'\n#{HELLO}") do |server|
      started = /the application started 1 thread while it was loaded/
      server.await_stderr(/warning: #{started}: .*ticker \(at .*config\.ru:1/)
    end
  end

  def test_a_child_of_the_application_that_lives_on_keeps_nobody_from_seeing_the_end_of_its_worker
    app = "run ->(env) { $child ||= fork { sleep }; [200, {}, [\"\#{Process.pid} \#{$child}\"]] }\n"
    serve(app) do |server|
      worker, child = get(server).split.map { |pid| Integer(pid, 10) }
      number = processes(server, "worker 0 ").first == worker ? 0 : 1
      Process.kill("KILL", worker)
      await_other(server, number, worker)
      server.await_stderr(/worker #{number} \(process #{worker}\) was killed by SIGKILL/)
    ensure
      Process.kill("KILL", child) if child
    end
  end

  private

  def config(text)
    @directory ||= Dir.mktmpdir
    File.join(@directory, "#{text.hash.abs}.rb").tap { |path| File.write(path, text) }
  end

  def teardown
    FileUtils.rm_rf(@directory) if @directory
  end

  # The block signals while a request runs, which is answered all the same.
  # @return [ServerProcess] ended
  def assert_one_drain(signal = "TERM")
    with_held_request do |server, client, held|
      yield server
      server.await_stderr(/SIG#{signal}: draining/)
      held.close
      assert_equal "let go", client.value.body
      assert_predicate server.wait(Patience::SECONDS), :success?
      return server
    end
  end

  def term_all(server)
    pids = %w[front mold worker].flat_map { |role| processes(server, role) }
    pids.each { |pid| Process.kill("TERM", pid) }
  end

  def with_held_request
    Gate.open do |gate|
      app = "require 'socket'\nrun ->(_env) { #{gate.wait_expression}; [200, {}, ['let go']] }\n"
      serve(app) do |server|
        client = Thread.new { attempt { get_response(server) } }
        yield server, client, gate.arrival
      ensure
        server.kill if server.running?
      end
    end
  end

  def attempt
    yield
  rescue StandardError => e
    e
  end
end
