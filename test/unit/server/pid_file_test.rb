# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/server/pid_file"
require "tmpdir"

class PidFileTest < Minitest::Test
  PidFile = NeverBlock::Server::PidFile

  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "server.pid")
  end

  def teardown
    FileUtils.rm_rf(@directory)
  end

  def test_it_holds_the_process_id_and_is_gone_afterwards
    file = PidFile.new(@path).take
    assert_equal "#{Process.pid}\n", File.read(@path)
    assert_equal 0o644 & ~File.umask, File.stat(@path).mode & 0o777
    file.release
    assert_empty Dir.children(@directory)
  end

  # What the file holds: a process that is gone, one that never was, nothing, or this process after
  # a restart in a container.
  STALE = {
    "a process that has ended" => -> { Process.wait2(fork { exit!(0) }).first.to_s },
    "no process" => -> { "4194305\n" },
    "nothing" => -> { "" },
    "this process's own id" => -> { Process.pid.to_s }
  }.freeze

  STALE.each do |what, text|
    define_method("test_a_file_left_behind_with_#{what} is replaced") do
      File.write(@path, text.call)
      PidFile.new(@path).take.release
      assert_empty Dir.children(@directory)
    end
  end

  def test_a_live_process_keeps_its_file
    reader, writer = IO.pipe
    child = fork do
      writer.close
      reader.read
      exit!(0)
    end
    reader.close
    File.write(@path, "#{child}\n")
    error = assert_raises(NeverBlock::StartError) { PidFile.new(@path).take }
    assert_match(
      /\Athe pidfile #{@path} belongs to process #{child} \(.+\), which runs; stop it first/,
      error.message
    )
    assert_equal ["server.pid"], Dir.children(@directory)
    assert_equal "#{child}\n", File.read(@path)
  ensure
    writer.close
    Process.wait(child)
  end

  def test_that_of_a_process_which_hands_over_is_replaced
    other = Process.spawn("sleep", "60")
    File.write(@path, "#{other}\n")
    assert_raises(NeverBlock::StartError) { PidFile.new(@path).take(after: other + 1) }
    PidFile.new(@path).take(after: other)
    assert_equal "#{Process.pid}\n", File.read(@path)
  ensure
    Process.kill("KILL", other)
    Process.wait(other)
  end

  def test_a_process_of_another_user_counts_as_alive
    File.write(@path, Process.ppid.to_s)
    File.chmod(0o777, @directory)
    child = fork do
      Process::Sys.seteuid(65_534) if Process.euid.zero? # nobody, who may signal no process of ours
      exit!(take_or_class == "NeverBlock::StartError" ? 0 : 1)
    end
    assert_predicate Process.wait2(child).last, :success?
  end

  def test_a_file_of_other_content_is_never_touched
    ["run App\n", "12 monkeys", "-1"].each do |text|
      File.write(@path, text)
      error = assert_raises(NeverBlock::StartError) { PidFile.new(@path).take }
      assert_match(/is not a pidfile; remove it/, error.message)
      assert_equal text, File.read(@path)
    end
  end

  def test_folders_links_and_missing_folders_are_named
    Dir.mkdir(@path)
    assert_raises(NeverBlock::StartError) { PidFile.new(@path).take }
    link = File.join(@directory, "link")
    File.symlink("/etc/hostname", link)
    error = assert_raises(NeverBlock::StartError) { PidFile.new(link).take }
    assert_match(/symbolic link/, error.message)
    error = assert_raises(NeverBlock::StartError) { PidFile.new("/no/such/x.pid").take }
    assert_match(%r{no folder /no/such; create it}, error.message)
  end

  def test_a_successors_file_is_left_alone
    file = PidFile.new(@path).take
    File.unlink(@path)
    File.write(@path, "1\n")
    file.release
    assert_equal "1\n", File.read(@path)
  end

  def test_a_forked_child_does_not_remove_its_parents_file
    file = PidFile.new(@path).take
    Process.wait(fork do
      file.release
      exit!(0)
    end)
    assert_path_exists @path
    file.release
  end

  def test_of_many_that_start_at_once_over_a_stale_file_one_has_it
    File.write(@path, "4194305")
    gate_reader, gate = IO.pipe
    results = Array.new(8) do
      reader, writer = IO.pipe
      fork do
        gate.close
        gate_reader.read
        writer << take_or_class
        writer.close
        exit!(0) unless File.read(@path) == "#{Process.pid}\n"
        gate_reader.read
        reader.close
        sleep # until the parent has seen who won
      end.then { |pid| [pid, reader, writer.close] }
    end
    gate.close
    words = results.map { |_, reader, _| reader.read }
    assert_equal({ "taken" => 1, "NeverBlock::StartError" => 7 }, words.tally)
    winner = File.read(@path).to_i
    assert_includes results.map(&:first), winner
  ensure
    results&.each do |pid, *|
      Process.kill("KILL", pid)
      Process.wait(pid)
    end
  end

  private

  def take_or_class
    PidFile.new(@path).take
    "taken"
  rescue StandardError => e
    e.class.name
  end
end
