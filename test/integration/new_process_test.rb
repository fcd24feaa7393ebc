# frozen_string_literal: true

# `neverblock upgrade` and SIGUSR2: a new process in place of the running one, at the same sockets;
# and sockets that systemd passes.

require "minitest/autorun"
require "open3"
require "socket"
require "tmpdir"
require_relative "../support/gate"
require_relative "../support/http_client"
require_relative "../support/patience"
require_relative "../support/server_process"
require_relative "../support/wire"
require "neverblock/server/control/client"
require "neverblock/server/other_process"

module NewProcess
  # Tells the version that the file beside it names. /gate waits until the file `gate` is there.
  # The version "broken" does not load.
  APP = <<~'RACKUP'
    folder = ENV.fetch("NB_TEST_FOLDER")
    version = File.read(File.join(folder, "version"))
    raise "the version is broken" if version == "broken"
    at_exit { File.write(File.join(folder, "left-#{Process.pid}-#{version}"), "") }
    sleep 0.01 until version != "waits" || File.exist?(File.join(folder, "gate"))
    run(lambda do |env|
      if env["PATH_INFO"] == "/gate"
        File.write(File.join(folder, "inside"), "")
        sleep 0.005 until File.exist?(File.join(folder, "gate"))
      end
      [200, {}, ["#{version} #{Process.ppid} #{Process.pid}"]]
    end)
  RACKUP

  def setup
    @folder = Dir.mktmpdir
    @pidfile = File.join(@folder, "x.pid")
    @socket = File.join(@folder, "x.sock")
    version("one")
  end

  # The last process has the old one's standard output, which is read to its end.
  def teardown
    return FileUtils.rm_rf(@folder) unless @server

    successor = File.read(@pidfile).to_i if File.exist?(@pidfile)
    finish(successor) if successor && successor != @server&.pid
    status = (@server.status || @server.wait(Patience::SECONDS)) if successor != @server&.pid
    @server&.kill
    FileUtils.rm_rf(@folder)
    assert_equal 0, status.exitstatus if status
  end

  def finish(pid)
    Process.kill("TERM", pid)
    ended(pid)
  rescue Errno::ESRCH
    nil
  end

  def ended(pid)
    process = NeverBlock::Server::OtherProcess.new(pid)
    Patience.await("process #{pid} has ended") { !process.alive? }
  end

  def start(*options, binds: ["http://127.0.0.1:0", "unix://#{@socket}"])
    @server = ServerProcess.new(APP, binds: binds, env: { "NB_TEST_FOLDER" => @folder },
                                     options: ["--pidfile", @pidfile, *more_options, *options])
    @server.start
  end

  def version(name)
    File.write(File.join(@folder, "version"), name)
  end

  def open_gate
    File.write(File.join(@folder, "gate"), "")
  end

  def invoke(command)
    out, err, status = Open3.capture3(*ServerProcess::NEVERBLOCK, command, "--pidfile", @pidfile)
    [status.exitstatus, out, err]
  end

  def served(url = @server.urls.first)
    HTTPClient.get(URI("#{url}/")).split.first
  end

  # One through the UNIX socket.
  def served_locally
    Wire::Client.open("unix://#{@socket}") do |client|
      client.get("/")
      client.response.body.split.first
    end
  end

  def holder = File.read(@pidfile).to_i

  def test_the_new_process_takes_over_pidfile_sockets_and_admin_address
    start("--admin", "http://127.0.0.1:0")
    version("two")
    status, out, err = invoke("upgrade")

    assert_equal [0, ""], [status, err]
    assert_match(/\Aprocess #{holder} starts beside this one$/, out)
    assert_match(/^upgraded in [\d.]+ s; process #{holder} serves, process #{@server.pid} /, out)
    ended(@server.pid)
    assert_equal %w[two two], [served, served_locally]
    assert_left "one"
    assert_equal "ok\n", HTTPClient.get(URI("#{@server.admin_url}/health"))
    version("three")

    assert_equal 0, invoke("upgrade").first
    assert_equal %w[three three], [served, served_locally]
    assert_equal 0, invoke("stop").first
    refute_path_exists @socket
    refute_path_exists @pidfile
  end

  def test_a_request_of_the_old_process_ends_there_and_no_client_is_refused
    start
    waiting = Wire::Client.new(@server.urls.first)
    waiting.get("/gate")
    Patience.await("it is inside") { File.exist?(File.join(@folder, "inside")) }
    version("two")
    seen = answers_beside do
      assert_equal 0, invoke("upgrade").first
      Patience.await("the new one serves") { served == "two" }
      open_gate

      assert_equal "one", waiting.response.body.split.first
      waiting.close
      ended(@server.pid)
    end

    assert_equal %w[one two], seen.uniq.sort
  end

  # What the application has asked for at its exit is done when its process is another.
  def assert_left(version)
    assert_path_exists File.join(@folder, "left-#{@server.pid}-#{version}") if more_options.empty?
    refute_empty Dir.glob(File.join(@folder, "left-*-#{version}"))
  end

  # Clients that make a connection for each request.
  def answers_beside
    over = false
    clients = Array.new(4) do
      Thread.new do
        seen = []
        seen << served until over
        seen
      end
    end
    yield
    over = true
    clients.flat_map(&:value)
  end

  def test_a_version_that_does_not_start_changes_nothing
    start
    version("broken")
    status, _, err = invoke("upgrade")

    assert_equal 1, status
    assert_match(/process \d+ did not start: .*the version is broken.*; nothing has changed/, err)
    assert_equal [@server.pid, "one"], [holder, served]
    version("two")
    Process.kill("USR2", @server.pid)

    ended(@server.pid)
    assert_equal "two", served
  end

  def test_a_stop_ends_the_process_that_does_not_serve_yet
    start
    version("waits")
    upgrade = Thread.new { invoke("upgrade") }
    Patience.await("it starts") { child }
    Process.kill("TERM", @server.pid)

    assert_equal 0, @server.wait(Patience::SECONDS)&.exitstatus
    ended(@child)
    assert_equal 1, upgrade.value.first
  end

  # The process that the server has started to replace it.
  def child
    @child ||= Dir.children("/proc").grep(/\A\d+\z/).map(&:to_i).find do |pid|
      File.binread("/proc/#{pid}/environ").include?("NEVERBLOCK_SOCKETS={") &&
        File.read("/proc/#{pid}/stat").rpartition(")").last.split[1].to_i == @server.pid
    rescue SystemCallError
      false
    end
  end

  def test_a_second_upgrade_at_the_same_time_is_refused
    start
    version("waits")
    first = Thread.new { invoke("upgrade") }
    Patience.await("it starts") { child }
    status, _, err = invoke("upgrade")

    assert_equal [1, true], [status, err.include?("an upgrade is under way")]
    open_gate
    assert_equal 0, first.value.first
    assert_equal "waits", served
  end
end

class NewProcessTest < Minitest::Test
  include NewProcess

  def more_options = []

  # A restart of one process drains first: its clients wait, and are not refused.
  def test_a_restart_keeps_the_sockets
    restart = start_again_with("")
    version("two")
    seen = answers_beside do
      File.write(restart, "")
      Patience.await("the new one serves") { served == "two" }
    end

    assert_equal %w[one two], seen.uniq.sort
    assert_left "one"
  end

  # One that fails, one that ends, and one that waits while a client comes.
  def test_a_restart_runs_every_at_exit_block_first
    Gate.open do |gate|
      restart = start_again_with(<<~RUBY)
        at_exit { File.write(File.join(ENV.fetch("NB_TEST_FOLDER"), "first"), "") }
        at_exit { #{gate.wait_expression} if File.read("#{@folder}/version") == "two" }
        at_exit { raise "on purpose" }
        at_exit { exit 3 }
      RUBY
      version("two")
      File.write(restart, "")
      held = gate.arrival
      client = Thread.new { served }
      refute_path_exists File.join(@folder, "first")
      held.close

      assert_equal "two", client.value
      assert_path_exists File.join(@folder, "first")
      version("three")
    end
  end

  # A stop at that time is no restart.
  def test_a_stop_while_at_exit_blocks_run_ends_the_process
    Gate.open do |gate|
      restart = start_again_with("at_exit { #{gate.wait_expression} }\n")
      version("broken")
      File.write(restart, "")
      gate.arrival
      Process.kill("TERM", @server.pid)

      status = @server.wait(Patience::SECONDS)
      assert_equal Signal.list["TERM"], status&.termsig
      refute_match(/the version is broken/, @server.stderr)
      @server = nil
    end
  end

  def test_a_process_that_cannot_start_again_says_so
    restart = start_again_with("Process.define_singleton_method(:exec) { |*| raise Errno::E2BIG }")
    File.write(restart, "")

    assert_equal 1, @server.wait(Patience::SECONDS)&.exitstatus
    assert_match(/^neverblock: the process cannot be started again: Argument list too long/,
                 @server.stderr)
    @server = nil
  end

  # @param code [String] for a hook, which is called before the server serves
  # @return [String] the restart file
  def start_again_with(code)
    restart = File.join(@folder, "restart.txt")
    config = File.join(@folder, "neverblock.rb")
    File.write(config, "restart_file #{restart.inspect}\nafter_fork do\n#{code}\nend\n")
    start("-C", config)
    restart
  end

  def test_sockets_that_systemd_passes_are_taken_and_their_files_left
    tcp = TCPServer.new("127.0.0.1", 0)
    unix = UNIXServer.new(@socket)
    other = TCPServer.new("127.0.0.1", 0)
    url = "http://127.0.0.1:#{tcp.local_address.ip_port}"
    words = [*ServerProcess::NEVERBLOCK, "-b", url, "-b", "unix://#{@socket}", "--pidfile",
             @pidfile, rackup]
    log = File.join(@folder, "log")
    env = { "LISTEN_FDS" => "3", "NB_TEST_FOLDER" => @folder }
    named = ["/bin/sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh"]
    pid = Process.spawn(env, *named, *words, 3 => tcp, 4 => unix, 5 => other,
                                             out: File::NULL, err: log)
    Patience.await("it serves") { File.exist?(@pidfile) && File.read(log).include?("version") }

    assert_equal %w[one one], [served(url), served_locally]
    assert_match(/a socket that listens at 127\.0\.0\.1:#{other.local_address.ip_port} was passed/,
                 File.read(log))
    Process.kill("TERM", pid)
    Process.wait(pid)
    assert_path_exists @socket
  ensure
    [tcp, unix, other].each { |socket| socket&.close }
  end

  def rackup
    File.join(@folder, "config.ru").tap { |path| File.write(path, APP) }
  end
end

class NewProcessWithWorkersTest < Minitest::Test
  include NewProcess

  def more_options = %w[-w 2]
end
