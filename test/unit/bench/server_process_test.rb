# frozen_string_literal: true

require "rbconfig"
require_relative "bench_case"

# Real processes, of a few lines of Ruby each.
class BenchServerProcessTest < BenchCase
  ANSWER = <<~'RUBY'
    require "socket"
    warn "bench: yjit=true"
    server = TCPServer.new("127.0.0.1", ARGV[0].to_i)
    loop do
      client = server.accept
      nil until client.gets == "\r\n"
      client.write("HTTP/1.1 #{ARGV[1] || "200 OK"}\r\nContent-Length: 11\r\n\r\nHello World")
      client.close
    end
  RUBY

  # Runs a script with the port as its argument.
  ScriptServer = Struct.new(:script, :arguments) do
    def name
      "script"
    end

    def ruby?
      true
    end

    def launch(port:, **)
      command = [RbConfig.ruby, "--disable-gems", "-e", script, port.to_s, *arguments]
      NeverBlock::Bench::Launch.new(command: command, environment: { "GIVEN" => "1" })
    end
  end

  def test_a_server_runs_while_the_block_does_and_is_gone_after_it
    pid = nil
    value = run_script(ANSWER) do |process|
      pid = process.tree.pids.first
      assert process.alive?
      assert process.yjit
      :value
    end
    assert_equal :value, value
    assert_raises(Errno::ESRCH) { Process.kill(0, pid) }
  end

  def test_what_a_server_started_goes_with_it_even_if_it_ignores_the_signal
    child = nil
    run_script("trap(:TERM, 'IGNORE'); Process.spawn('exec sleep 300')\n#{ANSWER}") do |process|
      child = process.tree.pids.last
      stop_quickly(process)
    end
    refute_nil child
    assert_gone(child)
  end

  def test_a_server_leads_a_group_of_its_own
    run_script(ANSWER) do |process|
      pid = process.tree.pids.first
      assert_equal pid, Process.getpgid(pid)
      refute_equal Process.getpgrp, pid
    end
  end

  def test_only_a_clean_environment_reaches_it
    ENV["NB_BENCH_LEAK"] = "1"
    script = "exit 1 if ENV.key?('NB_BENCH_LEAK') || ENV['GIVEN'] != '1' || " \
             "ENV['RACK_ENV'] != 'production'\n#{ANSWER}"
    assert_equal :ran, run_script(script) { :ran }
  ensure
    ENV.delete("NB_BENCH_LEAK")
  end

  def test_a_server_that_ends_at_once_is_an_error_with_its_last_words
    error = assert_raises(Error) { run_script("warn 'no such option'; exit 1") { flunk } }
    assert_equal "script ended at once: no such option", error.message
  end

  def test_a_wrong_answer_is_an_error
    error = assert_raises(Error) { run_script(ANSWER, "500 Oh") { flunk } }
    assert_includes error.message, "script answers wrongly: \"HTTP/1.1 500 Oh"
  end

  def test_an_error_in_the_block_stops_the_server_too
    pid = nil
    assert_raises(ArgumentError) do
      run_script(ANSWER) do |process|
        pid = process.tree.pids.first
        raise ArgumentError
      end
    end
    assert_gone(pid)
  end

  private

  def run_script(script, *arguments, &block)
    ServerProcess.run(ScriptServer.new(script, arguments), app: "a.ru", path: "/", &block)
  end

  # Without the grace that a server of the benchmarks gets.
  def stop_quickly(process)
    process.stub(:within, ->(_seconds) { false }) { process.stop }
  end

  # Waits until the process has ended or is a zombie. A killed process is not always one at once.
  def assert_gone(pid)
    Timeout.timeout(60) { Thread.pass until [nil, "Z", "X"].include?(state_of(pid)) }
  end

  def state_of(pid)
    File.read("/proc/#{pid}/stat")[/\) (\S)/, 1]
  rescue Errno::ENOENT, Errno::ESRCH
    nil
  end
end
