# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "neverblock/server/control"
require "neverblock/server/control/client"
require "tmpdir"
require "timeout"

class ControlTest < Minitest::Test
  Control = NeverBlock::Server::Control
  Client = Control::Client

  def setup
    @directory = Dir.mktmpdir
    @pidfile = File.join(@directory, "x.pid")
    @gate = Thread::Queue.new
  end

  def teardown
    @control&.close
    FileUtils.rm_rf(@directory)
    threads = Thread.list.select { |thread| thread.name.to_s.start_with?("nb-control") }
    threads.each { |thread| assert thread.join(Patience::SECONDS), "#{thread.name} lives on" }
  end

  COMMANDS = {
    "status" => ->(*) { { pid: 7, workers: [] } },
    "reload" => lambda { |*, &tell|
      tell.call("the new version starts")
      tell.call("it serves")
      { workers: [8, 9] }
    },
    "workers" => lambda { |argument|
      unless argument == "+1"
        raise NeverBlock::Error, "workers takes +1 or -1; got #{argument.inspect}"
      end

      { workers: [1, 2] }
    },
    "broken" => ->(*) { raise "a mistake" }
  }.freeze

  def test_a_command_is_answered_with_its_progress_and_its_result
    open_control
    lines = []
    answer = client.ask("reload") { |line| lines << line }
    assert_equal ["the new version starts", "it serves"], lines
    assert_equal [true, [8, 9]], answer.values_at(:ok, :workers)
    assert_operator answer[:seconds], :>=, 0
    assert_equal [1, 2], client.ask("workers +1")[:workers]
    assert_equal 7, client.ask("status")[:pid]
  end

  # Line => words of the refusal
  REFUSED = {
    "workers" => "workers takes +1 or -1; got nil",
    "workers many of them" => 'got "many of them"',
    "stop" => 'unknown command "stop"; known are status, reload, workers, broken, end',
    "" => 'unknown command ""',
    "\xFF\x00" => "unknown command",
    "broken" => "unexpected RuntimeError: a mistake",
    "x" * 300 => "a command is a line of at most 256 bytes"
  }.freeze

  REFUSED.each do |line, words|
    define_method("test_the line #{line.dump[0, 30]} is refused in one line") do
      open_control
      error = assert_raises(Client::Refused) { client.ask(line) }
      assert_includes error.message, words
      assert_equal 7, client.ask("status")[:pid]
    end
  end

  def test_a_long_command_keeps_nobody_from_asking
    started = Thread::Queue.new
    open_control({ "reload" => lambda { |*|
      started << true
      { done: @gate.pop }
    }, "status" => COMMANDS["status"] })
    reload = Thread.new { client.ask("reload") }
    pop(started)
    assert_equal 7, client.ask("status")[:pid]
    @gate << "yes"
    assert_equal "yes", finish(reload)[:done]
  end

  def test_a_client_that_says_nothing_is_sent_away_and_hurts_nobody
    open_control(line_s: 0.01)
    silent = Array.new(Control::CLIENTS_MAX) { connect }
    silent.each do |socket|
      assert_match(
        /"ok":false,"error":"(no command came within 0.01 s|\d+ other clients)/, read(socket)
      )
    end
    assert_equal 7, ask_until_there_is_room("status")[:pid]
  ensure
    silent&.each(&:close)
  end

  def test_more_clients_than_it_takes_are_told_so
    open_control
    silent = Array.new(Control::CLIENTS_MAX) { connect }
    error = assert_raises(Client::Refused) { client.ask("status") }
    assert_match(/16 other clients are connected/, error.message)
  ensure
    silent&.each(&:close)
  end

  def test_a_client_that_does_not_read_does_not_stop_the_command
    ended = Thread::Queue.new
    open_control({ "reload" => lambda { |*, &tell|
      5_000.times { tell.call("x" * 200) }
      ended << true
      {}
    } })
    deaf = connect
    deaf.write("reload\n")
    pop(ended)
  ensure
    deaf&.close
  end

  def test_a_client_that_leaves_before_the_answer_hurts_nobody
    started = Thread::Queue.new
    ended = Thread::Queue.new
    open_control({ "reload" => lambda { |*, &tell|
      started << true
      @gate.pop
      tell.call("nobody listens")
      ended << true
      {}
    }, "status" => COMMANDS["status"] })
    socket = connect
    socket.write("reload\n")
    pop(started)
    socket.close
    @gate << true
    pop(ended)
    assert_equal 7, client.ask("status")[:pid]
  end

  def test_who_waits_for_the_end_is_told_the_status
    open_control
    waiting = connect
    waiting.write("end\n")
    client.ask("status")
    pop_until_waiting
    @control.close(1)
    assert_equal({ "ok" => true, "status" => 1 }, JSON.parse(read(waiting)))
    refute_path_exists @control.path
    assert_raises(Client::Gone) { client.ask("status") }
  ensure
    waiting&.close
  end

  def test_a_command_that_runs_when_it_closes_is_ended
    started = Thread::Queue.new
    open_control({ "reload" => lambda { |*|
      started << true
      @gate.pop
      {}
    } })
    reload = Thread.new { assert_raises(Client::Gone) { client.ask("reload") } }
    pop(started)
    @control.close
    finish(reload)
  end

  def test_only_its_user_may_open_it
    open_control
    assert_equal 0o600, File.stat(@control.path).mode & 0o777
  end

  def test_another_user_who_gets_in_all_the_same_is_refused
    skip "takes root, to be another user" unless Process.euid.zero?

    open_control
    File.chmod(0o777, @control.path)
    File.chmod(0o755, @directory)
    reader, writer = IO.pipe
    pid = fork do
      Process::Sys.setuid(65_534)
      client.ask("status")
    rescue StandardError, ScriptError => e
      writer.write(e.message)
    ensure
      exit!(0)
    end
    writer.close
    # Root serves nobody but root.
    told = Timeout.timeout(Patience::SECONDS) { reader.read }
    assert_equal "this server belongs to user 0; you are user 65534", told
  ensure
    Process.wait(pid) if pid
    reader&.close
  end

  def test_a_killed_servers_socket_is_replaced_and_a_file_is_not
    socket = Socket.new(:UNIX, :STREAM)
    socket.bind(Socket.sockaddr_un("#{@pidfile}.control"))
    socket.close
    open_control
    assert_equal 7, client.ask("status")[:pid]
    @control.close
    File.write("#{@pidfile}.control", "mine")
    control = Control.new(@pidfile, COMMANDS)
    assert_match(
      /no control socket .*x\.pid\.control.*: a file that is not a socket is there; remove it/,
      control.open
    )
    control.close
    assert_equal "mine", File.read("#{@pidfile}.control")
  end

  def test_a_path_too_long_for_a_socket_is_reached_through_its_folder
    skip "takes Linux" unless File.directory?("/proc/self/fd")

    folder = File.join(@directory, "a" * 100)
    Dir.mkdir(folder)
    @pidfile = File.join(folder, "x.pid")
    open_control
    assert_equal 7, client.ask("status")[:pid]
    @control.close
    assert_empty Dir.children(folder)
  end

  def test_a_name_too_long_for_a_socket_is_a_line_and_no_control
    control = Control.new(File.join(@directory, "#{"x" * 120}.pid"), COMMANDS)
    assert_includes control.open, "so neverblock reload cannot report its result: " \
                                  "the path is too long for a socket; name a shorter pidfile"
    assert_nil control.close
  end

  def test_a_socket_that_another_has_put_there_is_left_alone
    open_control
    File.unlink(@control.path)
    other = Socket.new(:UNIX, :STREAM)
    other.bind(Socket.sockaddr_un(@control.path))
    @control.close
    assert_path_exists "#{@pidfile}.control"
  ensure
    other&.close
  end

  def test_a_forked_child_leaves_the_socket_alone
    open_control
    pid = fork do
      @control.close
      exit!(0)
    end
    Process.wait(pid)
    assert_equal 7, client.ask("status")[:pid]
  end

  # What stands at the socket's place => words
  STRANGE = {
    "nothing" => "nobody answers on",
    "text" => "not a control socket of NeverBlock",
    "a list" => "not a control socket of NeverBlock",
    "much" => "not a control socket of NeverBlock",
    "an end" => "was closed before an answer came"
  }.freeze
  SAID = {
    "text" => "SSH-2.0\r\n",
    "a list" => "[1]\n",
    "much" => "x" * 100_000,
    "an end" => "{\"progress\":\"1\"}\n"
  }.freeze

  STRANGE.each do |what, words|
    define_method("test_a client that finds #{what} says so") do
      server = say(SAID[what]) if SAID[what]
      assert_includes assert_raises(NeverBlock::Error) { client.ask("status") }.message, words
    ensure
      server&.join
    end
  end

  def test_a_client_waits_no_longer_than_it_said
    open_control({ "status" => ->(*) { @gate.pop } })
    error = assert_raises(Client::Gone) { client.ask("status", wait_s: 0.01) }
    assert_includes error.message, "no answer from"
    @gate << {}
  end

  private

  def open_control(commands = COMMANDS, line_s: Patience::SECONDS)
    @control = Control.new(@pidfile, commands, line_s: line_s)
    assert_nil @control.open
  end

  def client
    Client.new(@pidfile)
  end

  def connect
    UNIXSocket.new("#{@pidfile}.control")
  end

  def say(text)
    listener = UNIXServer.new("#{@pidfile}.control")
    Thread.new do
      socket = listener.accept
      socket.gets
      socket.write(text)
    rescue Errno::EPIPE
      nil
    ensure
      socket.close
      listener.close
    end
  end

  # The thread of whoever waits for the end stands in its wait.
  # Nothing outside tells when it does, so the loop asks until it does.
  def pop_until_waiting
    Timeout.timeout(Patience::SECONDS) do
      Thread.pass while @control.instance_variable_get(:@waiting).empty?
    end
  end

  def ask_until_there_is_room(command)
    Timeout.timeout(Patience::SECONDS) do
      client.ask(command)
    rescue Client::Refused
      retry
    end
  end

  def pop(queue)
    Timeout.timeout(Patience::SECONDS) { queue.pop }
  end

  def finish(thread)
    Timeout.timeout(Patience::SECONDS) { thread.value }
  end

  def read(socket)
    Timeout.timeout(Patience::SECONDS) { socket.read }
  end
end
