# frozen_string_literal: true

# The server as the first process of a container: a PID namespace is what makes it that. And with a
# read-only root. Where the machine does not let a test make namespaces (unshare(1)), it is skipped.

require "minitest/autorun"
require "open3"
require "timeout"
require "tmpdir"
require_relative "../support/container"
require_relative "../support/http_client"
require_relative "../support/patience"

class ContainersTest < Minitest::Test
  # /orphan leaves a process behind and says its number, /there?PID whether there is such a process.
  # /wait runs until the file is there.
  APP = <<~'RACKUP'
    run(lambda do |env|
      text = case env["PATH_INFO"]
             when "/pid" then Process.pid.to_s
             when "/orphan" then IO.popen(["sh", "-c", "sleep 0 >&- 2>&- & echo $!"], &:read)
             when "/there" then File.exist?("/proc/#{env["QUERY_STRING"]}").to_s
             when "/kill" then Process.kill("KILL", Process.pid)
             when "/upload" then env["rack.input"].read.bytesize.to_s
             else ""
             end
      [200, {}, [text]]
    end)
  RACKUP

  def setup
    @directory = Dir.mktmpdir
    File.write(File.join(@directory, "config.ru"), APP)
  end

  def teardown
    @container&.kill
    FileUtils.rm_rf(@directory)
  end

  WORKERS = { 1 => [], 2 => %w[-w 2] }.freeze

  WORKERS.each do |workers, options|
    define_method("test_the first process with #{workers} waits for orphans") do
      start(options)
      orphan = get("/orphan").to_i
      assert_operator orphan, :>, 1
      Timeout.timeout(Patience::SECONDS) { nil until get("/there?#{orphan}") == "false" }
    end

    define_method("test_the first process with #{workers} ends with status 0 after TERM") do
      start(options)
      @container.signal("TERM")
      assert_equal 0, @container.wait.exitstatus, @container.errors
    end

    named = "finds its pidfile and is stopped by it"
    define_method("test_the first process with #{workers} #{named}") do
      start([*options, "--pidfile", "x.pid"])
      # The command ends with the container, in which it runs.
      assert_match(/\Aprocess #{workers == 1 ? 2 : 1} is stopping/,
                   @container.command("stop", "--pidfile", "x.pid"))
      assert_equal 0, @container.wait.exitstatus
      refute_path_exists File.join(@directory, "x.pid")
    end

    named = "test_with a read-only root and TMPDIR somewhere else it serves with #{workers}, " \
            "large uploads too"
    define_method(named) do
      start(options, read_only: true)
      refute @container.writable?(@directory)
      assert_equal "1000000", post("/upload", "x" * 1_000_000)
      @container.signal("TERM")
      assert_equal 0, @container.wait.exitstatus, @container.errors
    end

    named = "test_what cannot be written with a read-only root is named in one line, " \
            "with #{workers}"
    define_method(named) do
      status, err = start_and_fail([*options, "--pidfile", "x.pid"], read_only: true)
      assert_equal 1, status.exitstatus
      assert_equal "neverblock: cannot write the pidfile #{@directory}/x.pid: " \
                   "#{@directory} is on a read-only file system\n", err
    end
  end

  def test_a_folder_for_large_bodies_that_is_read_only_too_is_named_and_small_ones_are_served
    @container = make([], true, temporary: @directory).start
    reason = /the folder for them cannot be used: #{@directory}: it is on a read-only file system/
    @container.await_errors(
      /request bodies over 64 KB get 503, because #{reason}; name another/
    )
    assert_equal "10", post("/upload", "x" * 10)
    assert_equal "503", HTTPClient.post(URI("#{@container.url}/upload"), "x" * 100_000).code
  end

  def test_one_process_is_not_the_first_one_itself
    start([])
    assert_equal "2", get("/pid")
  end

  def test_a_signal_that_it_has_no_use_for_is_passed_on_and_told_in_the_log
    start([])
    @container.signal("USR2")
    @container.await_errors(/SIGUSR2: /)
  end

  def test_a_second_signal_is_a_second_one_for_the_server_too
    start([])
    client = @container.connect
    client.write("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123")
    @container.signal("TERM")
    @container.await_errors(/SIGTERM: draining/)
    @container.signal("INT")
    assert_equal 1, @container.wait.exitstatus
  ensure
    client&.close
  end

  # The kernel sends it to the whole foreground group; two signals would cut the request.
  def test_a_key_of_the_terminal_is_one_signal_for_the_server
    @container = make([], false).start_on_terminal
    client = @container.connect
    client.write("POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n" \
                 "Connection: close\r\n\r\n1")
    assert_equal "0", post("/upload", "") # the other one has been read by then
    @container.press("\x03")
    client.write("23")
    assert_match(/\r\n\r\n3\z/, Timeout.timeout(Patience::SECONDS) { client.read })
    assert_equal 0, @container.wait.exitstatus
  ensure
    client&.close
  end

  def test_a_server_that_was_killed_is_told_and_the_status_says_so
    start([])
    get("/kill")
    assert_equal 128 + 9, @container.wait.exitstatus
    assert_match(/^neverblock: the server \(process 2\) was killed by SIGKILL$/, @container.errors)
  end

  def test_a_server_that_cannot_start_is_one_line_and_status_1
    File.write(File.join(@directory, "config.ru"), "raise 'no database'\n")
    status, err = start_and_fail([])
    assert_equal [1, "neverblock: config.ru:1: no database (RuntimeError)\n"],
                 [status.exitstatus, err]
  end

  private

  def start(options, read_only: false)
    @container = make(options, read_only).start
  end

  def start_and_fail(options, read_only: false)
    @container = make(options, read_only)
    @container.spawn
    [@container.wait, @container.errors]
  end

  def make(options, read_only, **rest)
    reason = Container.missing
    skip reason if reason
    Container.new(@directory, options, read_only: read_only, **rest)
  end

  def get(path)
    HTTPClient.get(URI("#{@container.url}#{path}"))
  rescue EOFError, Errno::ECONNRESET, Errno::ECONNREFUSED
    nil
  end

  def post(path, body)
    HTTPClient.post(URI("#{@container.url}#{path}"), body).body
  end
end
