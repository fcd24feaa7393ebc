# frozen_string_literal: true

# `neverblock stop` and `neverblock reload` as processes against a server of one process, and of
# several: what they say, what they end with, and what becomes of the server.
# (workers_reload_test.rb proves that no client notices a reload.)

require "minitest/autorun"
require "open3"
require "socket"
require "tmpdir"
require_relative "../support/http_client"
require_relative "../support/patience"
require_relative "../support/server_process"
require "neverblock/server/control/client"

class StopAndReloadTest < Minitest::Test
  # Answers when the file that the query names is there.
  APP = <<~'RACKUP'
    run(lambda do |env|
      unless env["QUERY_STRING"].empty?
        File.write("#{env["QUERY_STRING"]}.runs", "")
        sleep 0.005 until File.exist?(env["QUERY_STRING"])
      end
      [200, {}, ["answered"]]
    end)
  RACKUP

  def setup
    @directory = Dir.mktmpdir
    @pidfile = File.join(@directory, "x.pid")
    @gate = File.join(@directory, "gate")
    @server = ServerProcess.new(APP, options: ["--pidfile", @pidfile, *more_options]).start
  end

  def more_options
    return %w[-w 2] if name.include?("workers")

    return [] unless name.include?("one_process")

    ServerProcess.one_process("reload of one process says that it cannot be done")
  end

  def teardown
    @stop&.kill
    @server.kill
    FileUtils.rm_rf(@directory)
  end

  def test_stop_waits_until_the_process_has_ended_and_leaves_nothing_behind
    assert_equal [0, "process #{@server.pid} has ended\n", ""], told(invoke("stop"))
    assert_equal 0, @server.wait(Patience::SECONDS)&.exitstatus
    assert_empty Dir.children(@directory)
  end

  def test_stop_lets_requests_end_and_says_what_is_left
    with_request do |client|
      lines = stopping
      assert_equal "process #{@server.pid} is stopping: 1 connection is open\n", lines.pop
      File.write(@gate, "")
      assert_includes read(client), "answered"
      assert_equal 0, finish(@stop)
    end
  end

  def test_stop_now_cuts_what_runs
    with_request do |client|
      assert_equal 0, invoke("stop", "--now")[0]
      assert_empty read(client)
      assert_equal 1, @server.wait(Patience::SECONDS).exitstatus
    end
  end

  def test_a_server_that_was_told_to_cut_meanwhile_has_not_ended_cleanly
    with_request do
      stopping.pop
      Process.kill("INT", @server.pid)
      assert_equal 1, finish(@stop)
      assert_match(/has ended with status 1: requests were aborted/, @errors.string)
    end
  end

  def test_a_server_that_is_killed_meanwhile_has_not_ended_cleanly
    with_request do
      stopping.pop
      Process.kill("KILL", @server.pid)
      assert_equal 1, finish(@stop)
      assert_match(/was killed or has crashed: its pidfile still exists/, @errors.string)
    end
  end

  def test_another_stop_finds_nothing
    invoke("stop")
    status, _, err = invoke("stop")
    told = "neverblock: there is no pidfile #{@pidfile}; " \
           "check that the server runs, and was started with this pidfile\n"
    assert_equal [1, told], [status, err]
  end

  def test_reload_of_one_process_says_what_it_takes_and_changes_nothing
    status, out, err = invoke("reload")
    assert_equal [1, ""], [status, out]
    reason = /this server is one process and has no workers to replace/
    assert_match(/\Aneverblock: #{reason}: neverblock upgrade loads .*-w 2 or more\n\z/, err)
    assert_predicate @server, :running?
  end

  def test_reload_of_workers_says_which_processes_serve_now
    before = workers
    rewrite('run ->(_env) { [200, {}, ["new"]] }')
    status, out, err = invoke("reload")
    assert_equal [0, ""], [status, err]
    listed = out[/^reloaded in \d+\.\d s; the workers are processes ([\d, ]+)$/, 1].to_s
    now = listed.split(", ").map(&:to_i)
    assert_equal 2, now.size
    assert_empty now & before
    assert_equal "new", HTTPClient.get(URI(@server.url))
    assert_equal [2, now.sort], [ask("status")[:generation], workers.sort]
  end

  def test_reload_of_workers_that_cannot_load_is_the_reason_and_status_1
    rewrite("\nraise 'no database'\n")
    status, _, err = invoke("reload")
    assert_equal 1, status
    assert_match(/\Aneverblock: .*config\.ru:2: no database \(RuntimeError\).*\n\z/, err)
    assert_equal "answered", HTTPClient.get(URI(@server.url))
  end

  def test_stop_with_workers_leaves_nothing_behind
    pids = workers
    assert_equal [0, "process #{@server.pid} has ended\n", ""], told(invoke("stop"))
    assert_equal 0, @server.wait(Patience::SECONDS)&.exitstatus
    assert_empty(pids.select { |pid| File.exist?("/proc/#{pid}") })
    assert_empty Dir.children(@directory)
  end

  def test_workers_come_and_go_by_command
    ask("workers +1")
    Timeout.timeout(Patience::SECONDS) { nil until workers.size == 3 }
    ask("workers -1")
    Timeout.timeout(Patience::SECONDS) { nil until workers.size == 2 }
  end

  private

  def ask(command)
    NeverBlock::Server::Control::Client.new(@pidfile).ask(command)
  end

  def workers
    serving = ask("status")[:workers].select { |worker| worker[:state] == "serving" }
    serving.map { |worker| worker[:pid] }
  end

  def rewrite(text)
    File.write(@server.in_directory("config.ru"), text)
  end

  def invoke(*words)
    out, err, status = Open3.capture3(*ServerProcess::NEVERBLOCK, *words, "--pidfile", @pidfile)
    [status.exitstatus, out, err]
  end

  # Whether it saw the server before it was gone is chance.
  def told(result)
    result[1] = result[1].lines.grep_v(/is stopping/).join
    result
  end

  # @return [Thread::Queue] lines of `neverblock stop` on its way
  def stopping
    lines = Thread::Queue.new
    @errors = StringIO.new
    @stop = Thread.new do
      Open3.popen3(*ServerProcess::NEVERBLOCK, "stop", "--pidfile",
                   @pidfile) do |_, out, err, thread|
        out.each_line { |line| lines << line }
        @errors.write(err.read)
        thread.value.exitstatus
      end
    end
    lines
  end

  def with_request
    client = Wire::Client.new(@server.url)
    client.get("/?#{@gate}", "Connection: close")
    Timeout.timeout(Patience::SECONDS) { sleep 0.005 until File.exist?("#{@gate}.runs") }
    yield client
  ensure
    client&.close
  end

  def read(client)
    client.take_to_end.first
  end

  def finish(thread)
    Timeout.timeout(Patience::SECONDS) { thread.value }
  end
end
