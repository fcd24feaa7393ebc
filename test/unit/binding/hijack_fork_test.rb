# frozen_string_literal: true

require_relative "binding_case"

# A process that is forked in a request has no part in the connections that other requests take
# over (rack.hijack): it neither resets them nor keeps them open.
class HijackForkTest < BindingCase
  # Two requests fork while a connection is on its way to /hijack: /first when the I/O loop has sent
  # it and the executor has not read that; /second when it has, as that fiber is ready before the
  # one of /hijack.
  SCRIPT = <<~'RUBY'
    require "neverblock"
    require "rack"
    require "socket"
    $stdout.sync = true
    ending = ARGV[0]
    waits, open = IO.pipe
    asked, sent, forked = Array.new(3) { Queue.new }
    child = lambda do
      pid = fork do
        next if ending == "exit" # and at the end Ruby frees all objects

        open.close
        waits.read
        exit!
      end
      forked << pid
    end
    server = nil
    app = lambda do |env|
      case env["PATH_INFO"]
      when "/first"
        asked.pop
        nil until server.stats[:hijacked] == 1
        child.call
        sent << true
      when "/second"
        sent.pop
        child.call
      when "/hijack"
        asked << true
        io = env["rack.hijack"].call
        pids = Array.new(2) { forked.pop }
        pids.each { |pid| Process.wait(pid) } if ending == "exit"
        io.write("HTTP/1.1 200 OK\r\n\r\nours")
        io.close
      end
      [200, {}, ["fine"]]
    end
    config = NeverBlock::Config.new(binds: ["http://127.0.0.1:0"], slice_ms: 60_000)
    server = NeverBlock::Server.new(config, app).start
    port = Integer(server.urls.first[/\d+\z/])
    asking = %w[/first /second /hijack].map do |path|
      sleep(0.001) until path != "/hijack" || server.stats[:requests] == 2
      socket = TCPSocket.new("127.0.0.1", port)
      socket.write("GET #{path} HTTP/1.0\r\n\r\n")
      Thread.new { socket.read }
    end
    puts asking.map { |thread| thread.value.lines.last }
    open.close
    exit!
  RUBY

  def clients_read(ending)
    load_path = $LOAD_PATH.map { |path| "-I#{path}" }
    script = IO.popen([RbConfig.ruby, *load_path, "-e", SCRIPT, ending], err: File::NULL)
    within { script.read }
  ensure
    Process.kill(:KILL, script.pid) # the children that it leaves end with its pipe
    script.close
  end

  def test_a_child_that_ends_does_not_reset_them
    assert_equal %w[fine fine ours], clients_read("exit").split
  end

  def test_a_child_that_goes_on_does_not_keep_them_open
    assert_equal %w[fine fine ours], clients_read("stay").split
  end
end
