# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/server/inheritance"

class InheritanceTest < Minitest::Test
  Inheritance = NeverBlock::Server::Inheritance

  def setup
    @folder = Dir.mktmpdir
    @open = []
  end

  def teardown
    @open.each { |io| io.close unless io.closed? }
    FileUtils.rm_rf(@folder)
  end

  def listening(host = "127.0.0.1")
    keep(TCPServer.new(host, 0))
  end

  def keep(socket)
    socket.autoclose = false
    @open << socket
    socket
  end

  def port(socket) = socket.local_address.ip_port

  def passed(*sockets, **more)
    env = { Inheritance::VARIABLE => JSON.generate({ fds: sockets.map(&:fileno), **more }) }
    Inheritance.take(env).tap { assert_empty env }
  end

  def test_an_address_takes_the_socket_that_listens_there_once
    first = listening
    second = listening
    inheritance = passed(first, second)

    assert_nil inheritance.tcp("127.0.0.1", 1)
    assert_nil inheritance.tcp("127.0.0.2", port(first))
    assert_equal second.fileno, inheritance.tcp("127.0.0.1", port(second))
    assert_nil inheritance.tcp("127.0.0.1", port(second))
    assert_equal first.fileno, inheritance.tcp("127.0.0.1", 0), "port 0 is any"
  end

  def test_a_socket_of_all_addresses_serves_those_of_ipv4
    every = listening("::")

    assert_nil passed(every).tcp("127.0.0.1", port(every))
    assert_equal every.fileno, passed(every).tcp("0.0.0.0", port(every))
    assert_equal every.fileno, passed(every).tcp("::", port(every))
  rescue Errno::EAFNOSUPPORT, Errno::EADDRNOTAVAIL
    skip "this machine has no IPv6"
  end

  def test_a_unix_socket_is_found_by_its_path
    path = File.join(@folder, "x")
    socket = keep(UNIXServer.new(path))

    assert_nil passed(socket).unix("#{path}y")
    assert_equal socket.fileno, passed(socket).unix(path)
  end

  def test_what_is_no_listening_socket_is_left_alone
    reader, writer = IO.pipe
    @open.push(reader, writer)
    client = keep(Socket.new(:INET, :STREAM))

    assert_empty passed(reader, client).close_rest
    refute_predicate client, :closed?
  end

  def test_sockets_without_an_address_are_closed_and_named
    socket = listening
    number = port(socket)
    lines = passed(socket).close_rest

    assert_match(/listens at 127\.0\.0\.1:#{number} was passed.*it is closed/, lines.join)
    assert_raises(Errno::EBADF) { socket.local_address }
    @open.clear
  end

  def test_systemd_passes_them_to_the_process_that_it_names
    env = { "LISTEN_PID" => "1", "LISTEN_FDS" => "3", "LISTEN_FDNAMES" => "a:b:c" }

    assert_empty Inheritance.take(env).close_rest
    assert_empty env
    env = { "LISTEN_PID" => Process.pid.to_s, "LISTEN_FDS" => "0" }

    assert_predicate Inheritance.take(env), :keeps_paths?
  end

  def test_the_replaced_server_is_told_once
    reader, writer = IO.pipe
    writer.autoclose = false
    inheritance = passed(pid: 7, report: writer.fileno)

    assert_equal 7, inheritance.predecessor
    inheritance.failed("first line\nsecond")
    inheritance.ready

    assert_equal "failed first line\n", reader.read
    reader.close
  end

  def test_a_variable_that_is_none_of_ours_is_nothing
    ["{", "[]", "{\"x\":1}"].each do |text|
      assert_nil Inheritance.take({ Inheritance::VARIABLE => text }).predecessor
    end
  end
end
