# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "neverblock/boot/init"
require "open3"
require "timeout"

# Init runs as any process, and what it forks stands for a server.
# test/integration/containers_test.rb has it as the first process of a namespace.
class InitTest < Minitest::Test
  Init = NeverBlock::Boot::Init
  LIB = File.expand_path("../../../lib", __dir__)

  def teardown
    kill if @pid
  ensure
    [@out, @err].compact.each(&:close)
  end

  def test_it_is_for_the_first_process_and_a_server_of_one_process
    assert Init.needed?(1, 1)
    refute Init.needed?(2, 1)
    refute Init.needed?(1, 4711)
    refute Init.needed?(1)
  end

  def test_every_signal_is_passed_on_once
    start(
      "#{signals}.each { |name| trap(name) { $stdout.syswrite(%(\#{name}\n)) } }; " \
      "$stdout.syswrite(%(ready\n)); loop { sleep }"
    )
    assert_equal "ready", line
    Init::FORWARDED.each do |name|
      Process.kill(name, @pid)
      assert_equal name, line
    end
  end

  def test_it_ends_as_its_server_does
    { "exit 0" => 0, "exit 3" => 3, "abort" => 1, "exit!(7)" => 7 }.each do |code, status|
      start(code)
      assert_equal status, finish
    end
  end

  def test_a_server_that_a_signal_ended_is_128_and_its_number_and_a_line
    start("Process.kill(:USR1, $$); sleep", "cgroup: Struct.new(:oom_kills).new(0)")
    assert_equal 138, finish
    assert_match(/^neverblock: the server \(process \d+\) was killed by SIGUSR1$/, @err.read)
  end

  def test_a_server_that_the_kernel_killed_for_want_of_memory_is_told_so
    start(
      "Process.kill(:KILL, $$); sleep",
      "cgroup: Class.new { def oom_kills = @count = @count.to_i + 1 }.new"
    )
    assert_equal 137, finish
    assert_match(/was killed by SIGKILL, by the kernel because memory was exhausted$/, @err.read)
  end

  def test_a_signal_without_a_handler_of_the_servers_ends_it
    start("puts :ready; sleep")
    assert_equal "ready", line
    Process.kill("TERM", @pid)
    assert_equal 143, finish
  end

  def test_what_is_to_be_done_at_exit_is_done_once
    start("at_exit { puts :server }; exit 5", before: "at_exit { puts :once };")
    assert_equal %w[server once], [line, line]
    assert_equal 5, finish
    assert_nil line
  end

  private

  def signals
    "%w[#{Init::FORWARDED.join(" ")}]"
  end

  # The server has a group of its own.
  def kill
    children = File.read("/proc/#{@pid}/task/#{@pid}/children").split.map(&:to_i)
    [*children, @pid].each { |pid| Process.kill("KILL", pid) }
    Process.wait(@pid)
  rescue Errno::ESRCH, Errno::ENOENT, Errno::ECHILD
    nil
  end

  # @param code [String] of the server
  # @param options [String] of Init.new
  # @param before [String] code that runs in the process before
  def start(code, options = "", before: "")
    [@out, @err].compact.each(&:close)
    @out, out = IO.pipe
    @err, err = IO.pipe
    program = "$stdout.sync = true; require 'neverblock/boot/init'; #{before} " \
              "NeverBlock::Boot::Init.new(#{options}).become; #{code}"
    @pid = Process.spawn(
      RbConfig.ruby, "-I", LIB, "-e", program, out: out, err: err, in: File::NULL
    )
    [out, err].each(&:close)
  end

  def line
    Timeout.timeout(Patience::SECONDS) { @out.gets }&.chomp
  end

  def finish
    Timeout.timeout(Patience::SECONDS) { Process.wait2(@pid)[1].exitstatus }
  end
end
