# frozen_string_literal: true

# A server that was started from a terminal ends with it. A SIGHUP while the terminal is there, or
# where there is none, asks for a reload.

require "minitest/autorun"
require "pty"
require "tmpdir"
require_relative "../support/patience"
require_relative "../support/server_process"

class TerminalTest < Minitest::Test
  # What a server is started with, and what it says to SIGHUP while its terminal is there.
  KINDS = { "one process" => [[], /has no workers/], "workers" => [%w[-w 2], /reloaded: /] }.freeze

  KINDS.each do |kind, (words, answer)|
    define_method("test_with_its_terminal_a_server_ends: #{kind}") do
      on_a_terminal(words) do |said, pid, close|
        Process.kill("HUP", pid)
        await("its word about SIGHUP", said) { said.match?(answer) }
        close.call
        assert_equal 0, status(pid)
      end
    end

    define_method("test_one_that_was_started_by_nohup_stays: #{kind}") do
      on_a_terminal(words, "nohup") do |said, pid, close|
        port = Integer(said[/Listening on \S+:(\d+)/, 1])
        close.call
        Process.kill("HUP", pid)
        3.times do
          TCPSocket.open("127.0.0.1", port) do |socket|
            socket.write("GET / HTTP/1.0\r\n\r\n")
            assert_match(/200/, socket.read)
          end
        end
        Process.kill("TERM", pid)
        assert_equal 0, status(pid)
      end
    end
  end

  private

  # @yieldparam said [String] what has come to the terminal so far
  # @yieldparam pid [Integer] of a session of its own
  # @yieldparam close [#call] closes the terminal
  def on_a_terminal(words, *wrap)
    Dir.mktmpdir do |folder|
      rackup = File.join(folder, "config.ru")
      File.write(rackup, "run ->(_env) { [200, {}, ['hello']] }\n")
      root = ServerProcess::ROOT
      ruby = [RbConfig.ruby, "-I", File.join(root, "lib"), File.join(root, "exe/neverblock")]
      reader, writer, pid = PTY.spawn(*wrap, *ruby, rackup, "-p", "0", *words, chdir: folder)
      said = +""
      listening = Thread.new do
        loop { said << reader.readpartial(4096) }
      rescue StandardError
        nil # EIO, IOError: closed
      end
      nohup = "#{folder}/nohup.out"
      await("it listens", said) { said.include?("Listening on") || File.exist?(nohup) }
      if File.exist?(nohup)
        await("it listens", said) { said.replace(File.read(nohup)).include?("Listening on") }
      end
      yield said, pid, -> { [writer, reader].each(&:close) }
    ensure
      listening&.kill
      status(pid, "KILL") if pid
    end
  end

  def await(what, said, &)
    Patience.await(what, -> { said }, &)
  end

  # @return [Integer, nil] nil: it was reaped before
  def status(pid, kill = nil)
    Process.kill(kill, pid) if kill
    Timeout.timeout(Patience::SECONDS) { Process.wait2(pid).last.exitstatus }
  rescue SystemCallError
    nil
  end
end
