# frozen_string_literal: true

# bin/demo as somebody with a fresh checkout meets it.

require "minitest/autorun"
require "socket"
require "timeout"
require_relative "../support/http_client"
require_relative "demo_process"

class DemoTest < Minitest::Test
  def test_check_drives_the_demo_and_judges_it
    status, text = run_demo("--check")
    assert_equal 0, status, text
    assert_match(/^demo: 5 requests one after the other: /, text)
    assert_match(/^demo: 200 requests at once: /, text)
    assert_operator text[/at most (\d+) of them ran at the same moment/, 1].to_i, :>=, 150
    assert_match(/^demo: all is well$/, text)
  end

  def test_it_serves_on_the_port_it_is_given_until_it_is_interrupted
    DemoProcess.run(PORT: "0") do |demo|
      url = demo.url
      demo.await(/Ctrl-C ends it/)
      assert_equal "200", HTTPClient.get_response(URI("#{url}/")).code
      assert_includes HTTPClient.get(URI("#{url}/product?id=7")), "<h1>Chair no. 7</h1>"
      demo.interrupt
      assert_equal 0, demo.wait
      assert_raises(Errno::ECONNREFUSED) { HTTPClient.get(URI("#{url}/")) }
    end
  end

  def test_a_busy_port_is_one_clear_line_and_nothing_stays_behind
    TCPServer.open("127.0.0.1", 0) do |holder|
      port = holder.local_address.ip_port
      status, text = run_demo(PORT: port.to_s)
      assert_equal 1, status
      busy = /port #{port} is busy: process #{Process.pid} /
      assert_match(%r{^neverblock: cannot listen on http://127\.0\.0\.1:#{port}: #{busy}}, text)
      assert_match(
        %r{^bin/demo: the demo did not start, see above; another port: PORT=\d+ bin/demo$}, text
      )
    end
  end

  def test_what_it_does_not_know_is_refused
    status, text = run_demo("--chek")
    told = "bin/demo: unknown option --chek; --check and --help are what there is\n"
    assert_equal [1, told], [status, text]
    status, text = run_demo(PORT: "web")
    assert_equal 1, status
    assert_match(%r{^bin/demo: PORT is a whole number from 0 to 65535; seen "web"$}, text)
  end

  private

  def run_demo(*words, **env)
    DemoProcess.run(*words, **env) { |demo| return demo.finish }
  end
end
