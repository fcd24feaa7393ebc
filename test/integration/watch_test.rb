# frozen_string_literal: true

# `neverblock status` and `neverblock top` as processes: what they print and end with, and that a
# terminal is given back as it was found.

require "json"
require "minitest/autorun"
require "open3"
require "pty"
require "rbconfig"
require "timeout"
require "tmpdir"
require "io/console"
require "io/wait"
require_relative "../support/figures"
require_relative "../support/patience"

class WatchTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  COMMAND = [RbConfig.ruby, "-I", File.join(ROOT, "lib"), File.join(ROOT, "exe/neverblock")].freeze
  DEADLINE_S = Patience::SECONDS
  QUIET = { "NB_DEBUG" => nil, "NO_COLOR" => nil, "TERM" => "xterm" }.freeze
  ENTER = "\e[?1049h"
  LEAVE = "\e[0m\e[?25h\e[?1049l"

  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "admin.sock")
    @admin = "unix://#{@path}"
  end

  def teardown
    @server&.close
    FileUtils.rm_rf(@directory)
  end

  def test_status_prints_a_page_and_ends_with_0
    serve
    status, out, err = invoke("status", "--admin", @admin)
    assert_equal [0, ""], [status, err]
    assert_includes out, "NeverBlock 2.0.9 on Ruby 3.1.2, process 4711\nstate         running"
  end

  def test_status_as_json_is_the_servers_document
    serve(answer: Figures.answer(%({"state" : "running",  "new":[1]})))
    assert_equal [0, %({"state" : "running",  "new":[1]}\n), ""],
                 invoke("status", "--json", "--admin", @admin)
  end

  def test_status_of_a_server_that_takes_no_requests_is_1_with_its_page
    serve(answer: Figures.answer(Figures.document(state: "draining")))
    status, out, err = invoke("status", "--admin", @admin)
    assert_equal [1, ""], [status, err]
    assert_match(/^state +draining/, out)
  end

  def test_the_page_may_go_to_nobody
    serve
    command = [QUIET, *COMMAND, "status", "--admin", @admin, { err: %i[child out] }]
    status, err = Open3.pipeline_rw(command, "true") do |_, out, threads|
      [threads.first.value.exitstatus, out.read]
    end
    assert_equal [0, ""], [status, err]
  end

  # Words => what the one line says.
  WRONG = {
    %w[status] =>
      "no admin address: there is no config/neverblock.rb here. Start the server with --admin",
    %w[top] => "no admin address",
    %w[status -C -] => "no configuration file is read",
    %w[status -C nowhere.rb] => "no configuration file",
    %w[status --admin] => "--admin takes a value",
    %w[status --admin localhost:1] => "write http://localhost:1",
    %w[status --admin http://127.0.0.1:0] =>
      "the server prints the real one when it starts",
    %w[status --admin unix:///no/such.sock] =>
      "there is no answer from unix:///no/such.sock: there is no such socket; " \
      "check that the server runs",
    %w[top --admin unix:///no/such.sock] => "there is no such socket",
    %w[status http://127.0.0.1:1] => "write --admin http://127.0.0.1:1",
    %w[status config.ru] => "neverblock status takes options only; got config.ru",
    %w[status --jsn] => "has no option --jsn; did you mean --json?",
    %w[status --interval 2] => "neverblock status has no option --interval",
    %w[status --json=yes] => "--json takes no value; got --json=yes",
    %w[fibers --state asleep] => "--state takes one of running, ready, waiting; got \"asleep\"",
    %w[fibers --waits-for coffee] => "--waits-for takes one of sleep, lock, ",
    %w[fibers --older-than long] => "--older-than must be a number of seconds from 0.0 to",
    %w[fibers --rout /] => "has no option --rout; did you mean --route?",
    %w[advise --kind slow] => "--kind takes one of sequential, repeated, pool, no_limit; got",
    %w[advise --least much] => "--least must be a number of milliseconds from 0.0 to",
    %w[fibers --admin unix:///no/such.sock] => "there is no such socket",
    %w[top --interval 0] => "--interval must be a number of seconds from 0.1 to 3600; got \"0\"",
    %w[top --interval soon] => "got \"soon\"",
    %w[top --interval NaN] => "got \"NaN\"",
    %w[top -n 1.5] => "-n must be a whole number from 1 to 1000000000; got \"1.5\"",
    %w[top --inter 3] => "has no option --inter; did you mean --interval?"
  }.freeze

  WRONG.each do |words, line|
    define_method("test_neverblock #{words.join(" ")} is one line and status 1") do
      status, out, err = invoke(*words)
      assert_equal [1, ""], [status, out]
      assert_match(/\Aneverblock: [^\n]*\n\z/, err)
      assert_includes err, line
    end
  end

  def test_help_teaches
    %w[status top fibers advise].each do |command|
      status, out, err = invoke(command, "--help")
      assert_equal [0, ""], [status, err]
      ["Usage: neverblock #{command}", "--admin", "-C", "Examples:"].each do |words|
        assert_includes out, words
      end
      assert_operator out.lines.map { |line| line.chomp.length }.max, :<=, 120
    end
  end

  def test_top_into_a_pipe_is_a_line_a_reading
    serve
    status, out, err = invoke("top", "-n", "3", "--interval", "0.1", "--admin", @admin)
    assert_equal [0, ""], [status, err]
    lines = out.lines
    assert_equal 3, lines.size
    assert_match(/\A\d{4}-\S+Z running up 2 h 13 min: requests -\/s, /, lines[0])
    assert_match(/: requests 100\/s, /, lines[1])
    refute_includes out, "\e"
  end

  def test_top_ends_when_its_reader_has_enough
    serve
    command = [*COMMAND, "top", "--interval", "0.1", "--admin", @admin]
    out, status = Open3.popen2(QUIET, *command) do |_, output, thread|
      [output.gets, (output.close || bounded { thread.value })]
    end
    assert_match(/running/, out)
    assert_equal 0, status.exitstatus
  end

  def test_top_draws_on_a_terminal_and_q_gives_it_back
    serve
    on_terminal do |terminal|
      terminal.await("requests", "100/s", "██")
      terminal.type("q")
      assert_given_back(terminal, 0)
    end
  end

  def test_control_c_gives_the_terminal_back
    serve
    on_terminal do |terminal|
      terminal.await("q quits")
      terminal.type("\x03")
      assert_given_back(terminal, 0)
    end
  end

  def test_a_signal_gives_the_terminal_back
    serve
    on_terminal do |terminal|
      terminal.await("q quits")
      Process.kill("TERM", terminal.pid)
      assert_given_back(terminal, 143)
    end
  end

  def test_an_error_inside_gives_the_terminal_back
    serve
    broken = File.join(@directory, "broken.rb")
    # The second drawing fails.
    File.write(broken, <<~RUBY)
      require "neverblock/watch/dashboard"
      NeverBlock::Watch::Dashboard.prepend(Module.new do
        def screen(...) = (@drawn = @drawn.to_i + 1) > 1 ? raise("no screen today") : super
      end)
    RUBY
    on_terminal(before: ["-r", broken]) do |terminal|
      text = assert_given_back(terminal, 1)
      assert_match(/neverblock: unexpected RuntimeError: no screen today/,
                   text[text.index(LEAVE)..])
    end
  end

  def test_a_new_size_is_drawn_at_once
    serve
    on_terminal("--interval", "3600") do |terminal|
      terminal.await("80.1 MB resident")
      terminal.resize(8, 40)
      terminal.await(/\d+ more lines/)
      terminal.type("q")
      assert_given_back(terminal, 0)
    end
  end

  def test_it_says_that_the_server_is_gone_and_finds_it_again
    serve
    on_terminal do |terminal|
      terminal.await("q quits")
      @server.close
      File.unlink(@path)
      terminal.await("trying again: there is no answer from #{@admin}"[0, 70])
      serve(pid: 4712)
      terminal.await("process 4712")
      terminal.type("q")
      assert_given_back(terminal, 0)
    end
  end

  def test_requests_are_shown_sorted_and_scrolled_by_keys
    serve_fibers
    on_terminal do |terminal|
      terminal.await("Tab: requests")
      terminal.type("\t")
      terminal.await("age \u25be", "GET /orders/7", "waits for pg")
      terminal.type("s")
      terminal.await("ran \u25be", "POST /pay")
      terminal.type("r")
      terminal.await("ran \u25b4")
      terminal.resize(5, 60)
      terminal.await("1 to 2 of 4")
      terminal.type("\e[B")
      terminal.await("2 to 3 of 4")
      terminal.type("\t")
      terminal.await("Tab: requests")
      terminal.type("q")
      assert_given_back(terminal, 0)
    end
  end

  def test_a_server_that_is_too_old_for_requests_says_so_and_goes_on
    serve_fibers(fibers: Figures.answer("404 Not Found: there are / /health /ready\n",
                                        status: "404 Not Found"))
    on_terminal do |terminal|
      terminal.await("Tab: requests")
      terminal.type("\t")
      terminal.await("no /fibers.json at")
      terminal.type("\tq")
      assert_given_back(terminal, 0)
    end
  end

  def test_top_as_json_is_an_object_for_each_reading
    serve_fibers
    status, out, err = invoke("top", "--json", "-n", "2", "--interval", "0.1", "--admin", @admin)
    assert_equal [0, ""], [status, err]
    readings = out.lines.map { |line| JSON.parse(line) }
    assert_equal 2, readings.size
    assert_equal %w[time status fibers], readings.first.keys
    assert_equal "running", readings.last.dig("status", "state")
    assert_equal 4, readings.last.dig("fibers", "fibers").size
  end

  def test_colours_are_left_out_where_they_are_unwelcome
    serve
    coloured = /\e\[(1;7;)?3\dm/
    { nil => true, "1" => false }.each do |value, expected|
      on_terminal(env: { "NO_COLOR" => value }) do |terminal|
        terminal.await("q quits")
        terminal.type("q")
        assert_equal expected, coloured.match?(terminal.end_of_output)
      end
    end
  end

  def test_a_dumb_terminal_gets_lines
    serve
    on_terminal("-n", "1", env: { "TERM" => "dumb" }) do |terminal|
      text = terminal.end_of_output
      assert_match(/running up 2 h 13 min: requests/, text)
      refute_includes text, ENTER
    end
  end

  private

  # Ten seconds of the server's clock and a thousand requests pass between two questions.
  def serve(answer: nil, **changes)
    @server = Figures::Server.open(listener: UNIXServer.new(@path)) do |number|
      uptime_s = 7_980 + (number * 0.5)
      requests = { total: 1_000 + (number * 50) }
      answer || Figures.answer(Figures.document(uptime_s: uptime_s, requests: requests, **changes))
    end
  end

  # Also what the requests do.
  def serve_fibers(fibers: Figures.answer(Figures::FIBERS))
    status = Figures.answer(Figures.document)
    @server = Figures::Server.open(listener: UNIXServer.new(@path)) do |number|
      @server.asked[number].start_with?("GET /fibers.json") ? fibers : status
    end
  end

  def invoke(*words)
    bounded do
      out, err, status = Open3.capture3(QUIET, *COMMAND, *words, chdir: @directory, stdin_data: "")
      [status.exitstatus, out, err]
    end
  end

  def bounded(&block)
    Timeout.timeout(DEADLINE_S, &block)
  end

  def on_terminal(*words, env: {}, before: [], &block)
    ruby, *rest = COMMAND
    command = [ruby, *before, *rest, "top", "--interval", "0.1", "--admin", @admin, *words]
    Terminal.open(QUIET.merge(env), command, &block)
  end

  # @return [String] all it wrote
  def assert_given_back(terminal, status)
    text = terminal.end_of_output
    modes = text.scan(/^mode (\S+)/).flatten
    assert_equal 2, modes.size, text
    assert_equal modes[0], modes[1]
    assert_match(/^status #{status}\r?$/, text)
    assert_operator text.index(ENTER), :<, text.index(LEAVE)
    assert_equal 1, text.scan(LEAVE).size
    assert_operator text.rindex(LEAVE), :<, text.index("status #{status}")
    text
  end

  # A terminal of 24 by 80 with a program that notes the terminal's mode before and after the
  # command.
  class Terminal
    AROUND = <<~'RUBY'
      trap("INT") {}
      mode = -> { puts "mode #{`stty -g`}" }
      mode.call
      pid = spawn(*ARGV)
      puts "pid #{pid}"
      Process.wait(pid)
      puts "", "status #{$?.exitstatus.inspect}"
      mode.call
      $stdout.flush
      $stdin.getc
    RUBY

    def self.open(env, command)
      terminal = new(env, command)
      yield terminal
    ensure
      terminal&.close
    end

    attr_reader :pid

    def initialize(env, command)
      @bytes = +"".b
      @text = ""
      script = "$stdout.sync = true; STDIN.getc; #{AROUND}"
      @reader, @writer, @around = PTY.spawn(env, RbConfig.ruby, "-e", script, *command)
      @reader.winsize = [24, 80]
      type("\n")
      @pid = await(/^pid (\d+)/)[1].to_i
    end

    def type(keys)
      @writer.write(keys)
      @writer.flush
    end

    def resize(rows, columns)
      @reader.winsize = [rows, columns]
    end

    # @param patterns [Array<String, Regexp>] in this order
    # @return [MatchData] of the last
    def await(*patterns)
      patterns.map do |pattern|
        pattern = Regexp.new(Regexp.escape(pattern)) if pattern.is_a?(String)
        match = nil
        read_until { match = pattern.match(@text, @seen.to_i) }
        @seen = match.end(0)
        match
      end.last
    end

    # Waits until the command has ended and the mode after it is known.
    # @return [String] all that was written
    def end_of_output
      read_until { @text.match?(/^status .*^mode \S+/m) }
      @text
    end

    def close
      begin
        Process.kill("KILL", @pid) if @pid
      rescue Errno::ESRCH
        nil
      end
      Process.kill("KILL", @around)
      Process.wait(@around)
      [@reader, @writer].each(&:close)
    end

    private

    def read_until
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + DEADLINE_S
      until yield
        left = limit - Process.clock_gettime(Process::CLOCK_MONOTONIC)
        unless left.positive? && @reader.wait_readable(left)
          raise "not seen within #{DEADLINE_S} s:\n#{@text.inspect[-4000..]}"
        end

        @bytes << @reader.read_nonblock(65_536)
        @text = @bytes.dup.force_encoding(Encoding::UTF_8).scrub("?")
      end
    end
  end
end
