# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "neverblock/server/other_process"
require "tmpdir"
require "fileutils"
require "timeout"

class OtherProcessTest < Minitest::Test
  OtherProcess = NeverBlock::Server::OtherProcess

  def setup
    @pids = []
  end

  def teardown
    @pids.each do |pid|
      Process.kill("KILL", pid)
      Process.wait(pid)
    end
  end

  def test_a_process_that_runs_is_alive_and_one_that_has_ended_is_not
    other = OtherProcess.new(child("sleep", "600"))
    assert_predicate other, :alive?
    Process.kill("KILL", other.pid)
    Process.wait(@pids.pop)
    refute_predicate other, :alive?
    refute_predicate OtherProcess.new(99_999_999), :alive?
  end

  def test_one_that_has_ended_and_was_not_waited_for_is_not_alive
    skip "takes /proc" unless File.exist?("/proc/self/stat")

    other = OtherProcess.new(child("sleep", "600"))
    Process.kill("KILL", other.pid)
    Timeout.timeout(Patience::SECONDS) do
      Thread.pass until File.read("/proc/#{other.pid}/stat").include?(") Z ")
    end
    refute_predicate other, :alive?
  end

  def test_another_process_of_the_same_number_is_not_the_same_one
    with_proc("stat" => stat("S", 100)) do |root, pid|
      other = OtherProcess.new(pid, proc_root: root)
      assert_predicate other, :alive?
      File.write(File.join(root, pid.to_s, "stat"), stat("S", 200))
      refute_predicate other, :alive?
    end
  end

  def test_a_zombie_is_not_alive_whatever_it_is_called
    with_proc("stat" => stat("Z", 100)) do |root, pid|
      refute_predicate OtherProcess.new(pid, proc_root: root), :alive?
    end
  end

  def test_without_proc_only_its_being_alive_is_known
    other = OtherProcess.new(Process.pid, proc_root: "/no/such")
    assert_equal [true, "", true], [other.alive?, other.command, other.neverblock?]
  end

  # Files => command, whether it is ours
  KINDS = {
    { "cmdline" => "puma\0-e\0a\nb\0", "maps" => "7f r-xp /usr/lib/libc.so\n" } =>
      ["puma -e a?b", false],
    { "cmdline" => "/usr/bin/ruby\0/usr/bin/rackup\0",
      "maps" => "7f r-xp /gems/neverblock.so\n" } =>
      ["/usr/bin/ruby /usr/bin/rackup", true],
    { "cmdline" => "ruby\0exe/neverblock\0", "maps" => "" } => ["ruby exe/neverblock", true],
    { "cmdline" => "", "comm" => "kthreadd\n", "maps" => "" } => ["kthreadd", false],
    { "cmdline" => "x" * 100, "maps" => "" } => ["#{"x" * 60}...", false],
    { "cmdline" => "/usr/bin/ruby\0/#{"d" * 60}/bin/neverblock\0config.ru", "maps" => "" } =>
      ["ruby neverblock config.ru", true]
  }.freeze

  KINDS.each do |files, (command, ours)|
    kind = "#{"not " unless ours}one of ours"
    define_method("test_a process with #{files.inspect[0, 60]} is #{kind}") do
      with_proc(files) do |root, pid|
        assert_equal command, OtherProcess.new(pid, proc_root: root).command
        assert_equal ours, OtherProcess.new(pid, proc_root: root).neverblock?
      end
    end
  end

  private

  def child(*words, **options)
    Process.spawn(*words, **options).tap { |pid| @pids << pid }
  end

  def stat(state, started)
    "#{Process.pid} (a) b) (c) #{state} #{(4..21).to_a.join(" ")} #{started} 7\n"
  end

  def with_proc(files)
    Dir.mktmpdir do |root|
      FileUtils.mkdir_p(File.join(root, Process.pid.to_s))
      files.each { |name, text| File.write(File.join(root, Process.pid.to_s, name), text) }
      yield root, Process.pid
    end
  end
end
