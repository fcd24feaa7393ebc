# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "neverblock"
require "neverblock/cli/commands"
require "neverblock/cli/reload"
require "neverblock/cli/stop"
require "neverblock/server/control"
require "stringio"
require "timeout"
require "tmpdir"

# `neverblock stop` and `neverblock reload` against processes of the test's own.
# test/integration has them against servers.
class ProcessCommandsTest < Minitest::Test
  CLI = NeverBlock::CLI
  Control = NeverBlock::Server::Control

  def setup
    @directory = Dir.mktmpdir
    @pidfile = File.join(@directory, "x.pid")
    @out = StringIO.new
    @pids = []
  end

  def teardown
    @control&.close
    @pids.each do |pid|
      Process.kill("KILL", pid)
      Process.wait(pid)
    end
    FileUtils.rm_rf(@directory)
  end

  def test_a_reload_shows_its_progress_and_the_new_workers
    answer("reload" => lambda { |*, &tell|
      tell.call("a new version is being loaded")
      workers = [
        { number: 0, pid: 8, state: :serving },
        { number: 1, pid: 9, state: :serving },
        { number: 0, pid: 7, state: :retiring }
      ]
      { seconds: 1.23, workers: workers }
    })
    assert_equal 0, reload
    assert_equal "a new version is being loaded\n" \
                 "reloaded in 1.2 s; the workers are processes 8, 9\n", @out.string
  end

  def test_a_reload_that_failed_is_its_reason
    reason = "config.ru:3: no database; the old version still serves"
    answer("reload" => ->(*) { raise NeverBlock::Error, reason })
    assert_equal reason, assert_raises(NeverBlock::Error) { reload }.message
  end

  def test_a_server_without_a_control_socket_is_reloaded_by_hand
    File.write(@pidfile, "#{Process.pid}\n")
    pid = Process.pid
    assert_match(
      /process #{pid} cannot report on a reload \(nobody answers on .*\): .* by kill -HUP #{pid},/,
      assert_raises(NeverBlock::Error) { reload }.message
    )
  end

  # Text of the pidfile => words
  PIDFILES = {
    "" => "holds no process id",
    "0\n" => "holds no process id",
    "-1\n" => "holds no process id",
    "nginx\n" => "holds no process id",
    "\xFF" => "holds no process id",
    "99999999\n" => "is stale: process 99999999 has ended",
    "#{"9" * 40}\n" => "holds no process id"
  }.freeze

  PIDFILES.each do |text, words|
    define_method("test_a pidfile with #{text.dump[0, 20]} is refused") do
      File.binwrite(@pidfile, text)
      [method(:stop), method(:reload)].each do |command|
        error = assert_raises(NeverBlock::Error) { command.call }
        assert_includes error.message, "the pidfile #{@pidfile} #{words}"
      end
    end
  end

  def test_a_pidfile_whose_number_is_another_programs_is_refused_and_the_program_left_alone
    pid = child("sleep", "600")
    File.write(@pidfile, "#{pid}\n")
    message = assert_raises(NeverBlock::Error) { stop }.message
    assert_includes message, "names process #{pid} (sleep 600), which is not NeverBlock: " \
                             "the file remains from an earlier server; remove it"
    assert_nil Process.wait(pid, Process::WNOHANG)
  end

  def test_a_relative_pidfile_starts_at_the_directory_of_the_file
    config = File.join(@directory, "c.rb")
    File.write(config, "directory \"/srv/app\"\npidfile \"tmp/of_the_file\"\n")
    { [] => "/srv/app/tmp/of_the_file", %w[--pidfile x] => "/srv/app/x",
      %w[--pidfile /run/x] => "/run/x" }.each do |words, path|
      assert_equal path, CLI::ProcessOptions.new("stop", ["-C", config, *words]).pidfile({})
    end
    File.write(config, "fibers :many\n")

    assert_equal "/run/x",
                 CLI::ProcessOptions.new("stop", ["-C", config, "--pidfile", "/run/x"]).pidfile({})
  end

  # Text of a file that cannot be read => what finds the server without it.
  UNREAD = { "fibers :many\npidfile \"tmp/x.pid\"\n" => "tmp/x.pid",
             "pidfile('a.pid')\nfibers (\n" => "a.pid",
             "pidfile ENV.fetch(\"NB_NOT_SET\")\n" => "FILE" }.freeze

  def test_a_file_that_cannot_be_read_does_not_keep_a_server_from_its_end
    config = File.join(@directory, "c.rb")
    UNREAD.each do |text, name|
      File.write(config, text)
      error = assert_raises(NeverBlock::ConfigError) do
        CLI::ProcessOptions.new("reload", ["-C", config]).pidfile({})
      end
      assert_match(/c\.rb:\d.*; --pidfile #{name} finds the server without reading the file\z/,
                   error.message)
    end
    error = assert_raises(NeverBlock::ConfigError) do
      CLI::ProcessOptions.new("stop", ["-C", "#{config}.none"]).pidfile({})
    end
    assert_includes error.message, "; --pidfile FILE finds"
  end

  def test_the_pidfile_is_found_where_the_server_finds_it
    File.write(File.join(@directory, "named"), "#{Process.pid}\n")
    FileUtils.mkdir_p(File.join(@directory, "config"))
    File.write(File.join(@directory, "config/neverblock.rb"), "pidfile \"of_the_file\"\n")
    Dir.chdir(@directory) do
      {
        [%w[--pidfile a], { "PIDFILE" => "b" }] => "a",
        [[], { "PIDFILE" => "b" }] => "b",
        [[], {}] => "of_the_file"
      }.each do |(words, env), name|
        error = assert_raises(NeverBlock::Error) do
          CLI::Stop.new(words, env: env, out: @out).run
        end
        assert_includes error.message, "no pidfile #{File.realpath(@directory)}/#{name};"
      end
    end
  end

  def test_stop_gives_up_on_a_process_that_does_not_end_and_says_what_helps
    deaf_server
    config = File.join(@directory, "config.rb")
    File.write(config, "timeouts { shutdown 0 }\npidfile #{@pidfile.inspect}\n")
    error = assert_raises(NeverBlock::Error) do
      CLI::Stop.new(["-C", config], env: {}, out: @out, patience_s: 0).run
    end
    assert_equal "process #{@pids[0]} has not ended within 0 s; " \
                 "neverblock stop --now aborts what still runs", error.message
    error = assert_raises(NeverBlock::Error) do
      CLI::Stop.new(["-C", config, "--now"], env: {}, out: @out, patience_s: 0).run
    end
    assert_equal "process #{@pids[0]} has not ended within 0 s; use kill -9 #{@pids[0]}",
                 error.message
  end

  def test_what_is_left_is_one_live_line_on_a_terminal
    deaf_server
    @out.define_singleton_method(:tty?) { true }
    control(@pidfile, "status" => ->(*) { { connections: 1, shutdown_s: 0 } })
    assert_raises(NeverBlock::Error) do
      CLI::Stop.new(["--pidfile", @pidfile], env: {}, out: @out, patience_s: 0).run
    end
    assert_match(
      /\A(\r\e\[Kprocess #{@pids[0]} is stopping: 1 connection is open)+\r\e\[K\z/, @out.string
    )
  end

  def test_a_server_that_says_it_ended_badly_is_believed
    pid = deaf_server
    control(@pidfile, "status" => ->(*) { { connections: 2 } })
    stop = Thread.new { assert_raises(NeverBlock::Error) { self.stop } }
    Timeout.timeout(Patience::SECONDS) do
      Thread.pass while @control.instance_variable_get(:@waiting).empty?
    end
    @control.close(1)
    Process.kill("KILL", pid)
    Process.wait(@pids.pop)
    error = Timeout.timeout(Patience::SECONDS) { stop.value }
    assert_equal "process #{pid} has ended with status 1: requests were aborted, " \
                 "or a part of it failed; see its log", error.message
  end

  private

  def stop
    CLI::Stop.new(["--pidfile", @pidfile], env: {}, out: @out).run
  end

  def reload
    CLI::Reload.new(["--pidfile", @pidfile], env: {}, out: @out).run
  end

  # This process is the server.
  def answer(commands)
    File.write(@pidfile, "#{Process.pid}\n")
    control(@pidfile, commands)
  end

  def control(pidfile, commands)
    @control = Control.new(pidfile, commands, line_s: Patience::SECONDS)
    assert_nil @control.open
  end

  # One that takes no signal, and is called as ours are.
  def deaf_server
    reader, writer = IO.pipe
    program = "trap('TERM') {}; trap('INT') {}; puts; $stdout.flush; sleep # neverblock"
    pid = child(RbConfig.ruby, "-e", program, out: writer)
    writer.close
    Timeout.timeout(Patience::SECONDS) { reader.gets }
    File.write(@pidfile, "#{pid}\n")
    pid
  ensure
    reader&.close
  end

  def child(*words, **options)
    Process.spawn(*words, **options).tap { |pid| @pids << pid }
  end
end
