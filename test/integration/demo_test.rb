# frozen_string_literal: true

# bin/demo as somebody with a fresh checkout meets it. Setting up has been done by bin/test, so that only the demo itself takes time here.

require "minitest/autorun"
require "net/http"
require "socket"
require "timeout"

class DemoTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  DEADLINE_S = 120
  # The demo has its own bundle: none of ours may reach it.
  CLEAN = ENV.keys.grep(/\A(BUNDLE|BUNDLER|RUBYOPT|RUBYLIB|GEM_)/).to_h { |name| [name, nil] }.merge("PORT" => nil).freeze

  def test_check_drives_the_demo_and_judges_it
    status, text = run_demo("--check")
    assert_equal 0, status, text
    assert_match(/^demo: 5 requests one after the other: /, text)
    assert_match(/^demo: 200 requests at once: /, text)
    assert_operator text[/at most (\d+) of them ran at the same moment/, 1].to_i, :>=, 150
    assert_match(/^demo: all is well$/, text)
  end

  def test_it_serves_on_the_port_it_is_given_until_it_is_interrupted
    start_demo("PORT" => "0") do |pid, lines|
      url = await(lines, %r{^demo: Listening on (http://127\.0\.0\.1:\d+)$})
      await(lines, /Ctrl-C ends it/)
      assert_equal "200", Net::HTTP.get_response(URI("#{url}/")).code
      product = Net::HTTP.get(URI("#{url}/product?id=7"))
      assert_includes product, "<h1>Chair no. 7</h1>"
      # As a terminal does: to the whole foreground group.
      Process.kill("INT", -pid)
      assert_equal 0, Timeout.timeout(DEADLINE_S) { Process.wait2(pid).last.exitstatus }
      assert_raises(Errno::ECONNREFUSED) { Net::HTTP.get(URI("#{url}/")) }
    end
  end

  def test_a_busy_port_is_one_clear_line_and_nothing_stays_behind
    TCPServer.open("127.0.0.1", 0) do |holder|
      port = holder.local_address.ip_port
      status, text = run_demo("PORT" => port.to_s)
      assert_equal 1, status
      assert_match(/^neverblock: cannot listen on http:\/\/127\.0\.0\.1:#{port}: port #{port} is busy: process #{Process.pid} /, text)
      assert_match(%r{^bin/demo: the demo did not start, see above; another port: PORT=\d+ bin/demo$}, text)
    end
  end

  def test_what_it_does_not_know_is_refused
    status, text = run_demo("--chek")
    assert_equal [1, "bin/demo: unknown option --chek; --check and --help are what there is\n"], [status, text]
    status, text = run_demo("PORT" => "web")
    assert_equal 1, status
    assert_match(%r{^bin/demo: PORT is a whole number from 0 to 65535; seen "web"$}, text)
  end

  private

  def run_demo(*words, **env)
    start_demo(*words, **env) do |pid, lines|
      status = Timeout.timeout(DEADLINE_S) { Process.wait2(pid).last }
      text = +""
      while (line = lines.pop)
        text << line
      end
      [status.exitstatus, text]
    end
  end

  # @yieldparam pid [Integer] leader of a process group
  # @yieldparam lines [Thread::Queue] of both outputs; closed at their end
  def start_demo(*words, **env)
    reader, writer = IO.pipe
    pid = Process.spawn(CLEAN.merge(env.transform_keys(&:to_s)), File.join(ROOT, "bin/demo"), *words, out: writer, err: writer, in: File::NULL, pgroup: true, chdir: "/")
    writer.close
    lines = Thread::Queue.new
    pump = Thread.new do
      reader.each_line { |line| lines << line }
      lines.close
    end
    yield pid, lines
  ensure
    begin
      Process.kill("TERM", -pid)
      Timeout.timeout(DEADLINE_S) { Process.wait(pid) }
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    end
    pump.join(5)
    reader.close
  end

  def await(lines, pattern)
    seen = +""
    Timeout.timeout(DEADLINE_S) do
      while (line = lines.pop)
        seen << line
        match = pattern.match(line)
        return match[1] if match
      end
    end
    flunk "no #{pattern.inspect} in:\n#{seen}"
  end
end
