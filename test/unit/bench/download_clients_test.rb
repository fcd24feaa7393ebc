# frozen_string_literal: true

require "socket"
require_relative "../../support/patience"
require_relative "bench_case"

# Tests benchmark/c/downloads.c: it accepts correct downloads and names each fault of a wrong one.
class BenchDownloadClientsTest < BenchCase
  FILE = "1KB.bin"
  LARGE = "1MB.bin"

  # Built once for all tests here.
  HOME = Dir.mktmpdir
  Minitest.after_run { FileUtils.rm_rf(HOME) }
  # Every load ends by a count, and by time only where nothing is to end.
  SECONDS_MAX = 60

  def setup
    @files = FileSet.new
    @listener = TCPServer.new("127.0.0.1", 0)
    @asked = Queue.new
    @peers = Queue.new
  end

  def teardown
    @server&.kill&.join
    @listener.close
    @files.remove
  end

  def test_what_is_right_is_compared_byte_by_byte_and_no_error
    serve
    outcome = run_clients
    assert_operator outcome.requests, :>, 0
    assert_equal [0, [], outcome.bytes],
                 [outcome.error_count, outcome.faults, outcome.compared_bytes]
    assert_operator outcome.bytes, :>=, outcome.requests * 1_000
    assert_equal [outcome.requests], outcome.by_file
  end

  def test_a_wrong_byte_is_found_wherever_it_is
    { 0 => /byte 0 is/, 500 => /byte 500 is/, 999 => /byte 999 is/ }.each do |place, text|
      fault("bytes", text) do |head, body|
        [head, body.tap { body.setbyte(place, body.getbyte(place) ^ 1) }]
      end
    end
  end

  def test_bytes_that_come_in_the_wrong_order_are_found
    fault("bytes", /byte 0 is/, file: LARGE) do |head, body|
      [head, body[500_000..] + body[0, 500_000]]
    end
  end

  def test_a_body_that_ends_too_soon_is_found
    fault("short", /at 999 of 1000/) { |head, body| [head, body[0, 999]] }
    fault("short", /at 0 of 1000/) { |head, _body| [head, ""] }
  end

  def test_more_than_was_announced_is_found
    fault("long", /more than was announced/) { |head, body| [head, "#{body}x"] }
  end

  def test_another_status_is_no_download
    fault("status", /503 Service Unavailable/) do |head, body|
      [head.sub("200 OK", "503 Service Unavailable"), body]
    end
    fault("status", %r{HTTP/1.1 2000}) { |head, body| [head.sub("200 OK", "2000"), body] }
  end

  def test_each_field_of_the_head_is_checked
    {
      "content-length: 1000" => "content-length: 1001",
      "content-length" => "x-length",
      "application/octet-stream" => "text/html",
      "last-modified" => "x-modified",
      " GMT\r\ndate" => " GMT x\r\ndate",
      "\r\ndate:" => "\r\nx-date:",
      "etag" => "x-etag",
      "\"tag\"" => "W/\"tag\"",
      "\"tag\"\r\n" => "tag\r\n",
      "etag:" => "transfer-encoding: chunked\r\netag:",
      "date:" => "content-encoding: gzip\r\ndate:"
    }.each do |right, wrong|
      fault("header", /./) do |head, body|
        [head.sub(right, wrong).tap { |changed| refute_equal head, changed }, body]
      end
    end
  end

  def test_a_field_that_comes_twice_is_found
    fault("header", /Content-Length/) do |head, body|
      [head.sub("content-length: 1000", "content-length: 1000\r\ncontent-length: 1000"), body]
    end
  end

  def test_a_tag_that_changes_is_found
    count = 0
    fault("header", /ETag/) { |head, body| [head.sub("tag", "tag#{count += 1}"), body] }
  end

  def test_a_connection_that_ends_in_the_head_is_found
    fault("reset", /before the head was whole/) { |_head, _body| ["HTTP/1.1 200 OK\r\n", ""] }
  end

  def test_where_nobody_listens_is_found
    port = @listener.addr[1]
    @listener.close
    outcome = run_clients(url: "http://127.0.0.1:#{port}")
    assert_operator outcome.errors["connect"], :>, 0
  end

  # Free are two quanta (QUANTUM_BYTES) and what came with the head (HEAD_BYTES_MAX).
  def test_a_client_that_may_read_slowly_reads_no_faster
    serve
    outcome = run_clients(file: "300KB.bin", clients: 1, rate: 100_000, downloads: 1)
    assert_equal [1, 0], [outcome.requests, outcome.error_count]
    assert_operator outcome.whole_us["max"], :>=, (300_000 - 108_192) * 10
  end

  def test_clients_ask_for_all_files_equally_often
    serve
    outcome = run_clients(files: [FILE, "2KB.bin", "3KB.bin"], clients: 1, downloads: 30)
    assert_operator outcome.by_file.max - outcome.by_file.min, :<=, 1
  end

  def test_kept_connections_are_kept_and_fresh_ones_are_not
    serve do |socket|
      Patience.await("both have connected") { @peers.size >= 2 }
      answer_all(socket)
    end
    run_clients(clients: 2, fresh: false)
    assert_equal 2, @peers.size
    outcome = run_clients(clients: 2, fresh: true)
    assert_operator @peers.size, :>=, outcome.requests
  end

  def test_they_come_from_several_addresses
    serve
    run_clients(clients: DownloadClients::SOURCES, downloads: 200)
    assert_equal DownloadClients::SOURCES, Array.new(@peers.size) { @peers.pop }.uniq.size
  end

  def test_a_download_that_is_not_compared_is_counted_and_its_head_checked
    serve
    outcome = run_clients(check: 0)
    assert_operator outcome.bytes, :>, 0
    assert_equal [0, 0], [outcome.compared_bytes, outcome.error_count]
    fault("header", /Content-Length/, check: 0) do |head, body|
      [head.sub("content-length: 1000", "content-length: 999"), body]
    end
    fault("short", /before the body was whole/, check: 0) { |head, body| [head, body[0, 999]] }
  end

  def test_one_who_hangs_up_is_no_error_of_the_server
    serve
    outcome = run_clients(file: LARGE, hangups: 1_000)
    assert_operator outcome.hangups, :>, 0
    assert_equal [0, 0], [outcome.requests, outcome.error_count]
  end

  def test_those_that_have_stopped_reading_stay_and_are_not_in_the_figures
    serve
    outcome = run_clients(file: LARGE, clients: 0, stopped: 3, downloads: 3)
    assert_equal [3, 0, 0, 0],
                 [outcome.stopped_open, outcome.bytes, outcome.requests, outcome.error_count]
  end

  def test_who_waits_for_a_first_byte_until_the_end_counts_with_what_it_waited
    serve { |_socket| sleep }
    outcome = run_clients(clients: 2, seconds: 4)
    assert_equal [2, 2, 0], [outcome.waiting, outcome.first_us["count"], outcome.error_count]
    assert_operator outcome.first_us["mean"], :>, 0
  end

  def test_clients_that_are_stopped_for_a_while_tell_it
    over = Queue.new
    serve { |socket| over.pop || answer_all(socket) }
    outcome = run_clients(clients: 1, downloads: 1) do
      @peers.pop
      stop_clients_for(1.2)
      over.close
    end
    assert_operator outcome.standstill_us, :>=, 1_000_000
  end

  def test_several_processes_share_the_clients
    serve
    outcome = run_clients(clients: 4, processes: 2)
    assert_operator outcome.requests, :>, 0
    assert_equal 0, outcome.error_count
  end

  def test_it_tells_when_counting_begins
    serve
    told = 0
    run_clients { told += 1 }
    assert_equal 1, told
  end

  def test_a_plan_that_cannot_be_is_an_error_that_says_why
    error = assert_raises(Error) { run_clients(clients: 0) }
    assert_match(/no file, server or clients/, error.message)
  end

  private

  # Those that the program has forked.
  def stop_clients_for(seconds)
    pids = ProcessTree.new(Process.pid).leaves.select do |pid|
      File.read("/proc/#{pid}/comm").chomp == "downloads"
    end
    pids.each { |pid| Process.kill(:STOP, pid) }
    sleep(seconds)
    pids.each { |pid| Process.kill(:CONT, pid) }
  end

  # The server's answers go through the block; the clients have to name the fault.
  def fault(kind, text, file: FILE, **options, &change)
    serve(&answering(change))
    outcome = run_clients(file: file, clients: 1, downloads: 2, **options)
    assert_operator outcome.errors[kind], :>, 0, outcome.inspect
    assert_match(/\A#{kind}: /, outcome.faults.first)
    assert_match(text, outcome.faults.first)
  end

  def answering(change)
    lambda do |socket|
      name = asked(socket)
      socket.write(change.call(head_of(name), body_of(name)).join)
      socket.close
    end
  end

  def run_clients(url: nil, file: FILE, files: [file], clients: 4, seconds: SECONDS_MAX,
                  processes: 1, downloads: 20, **options, &block)
    url ||= "http://127.0.0.1:#{@listener.addr[1]}"
    entries = files.map { |name| @files.entry(name) }
    crowd = Crowd.new(clients: clients, files: files, downloads: downloads, **options)
    program = DownloadClients.new(home: HOME, prefix: [], processes: processes)
    program.run(crowd, entries: entries, url: url, ramp: 0, seconds: seconds, &block)
  end

  def serve(&block)
    @server&.kill&.join
    block ||= method(:answer_all)
    @server = Thread.new do
      loop do
        Thread.new(@listener.accept) do |socket|
          @peers << socket.peeraddr(false).last
          block.call(socket)
        rescue IOError, SystemCallError
          nil
        end
      end
    rescue IOError, SystemCallError
      nil
    end
  end

  def answer_all(socket)
    while (name = asked(socket))
      socket.write(head_of(name) + body_of(name))
    end
  end

  # @return [String, nil] the file's name
  def asked(socket)
    head = +""
    head << socket.readpartial(1) until head.end_with?("\r\n\r\n")
    head[%r{\AGET /(\S+) HTTP/1.1\r\n}, 1]
  end

  def body_of(name)
    File.binread(File.join(@files.directory, name))
  end

  def head_of(name)
    entry = @files.entry(name)
    ("HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n" \
      "content-length: #{File.size(entry.disk)}\r\netag: \"tag\"\r\n" \
      "last-modified: #{entry.modified_text}\r\ndate: #{Time.now.httpdate}\r\n\r\n").b
  end
end
