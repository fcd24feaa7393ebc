# frozen_string_literal: true

require_relative "watch_case"
require "tmpdir"

class WatchClientTest < WatchCase
  def fetch(answer, **options)
    server = Figures::Server.open(answer)
    Client.new(bind(server.url), **options).fetch
  ensure
    @asked = server.asked
    server.close
  end

  def refused(answer, **options)
    assert_raises(Unreachable) { fetch(answer, **options) }.message
  end

  def test_the_document_comes_as_the_server_wrote_it
    assert_equal %({"a" : "\u00e9"}), fetch(Figures.answer(%({"a" : "\u00e9"})))
    assert_equal ["GET /status.json HTTP/1.0"], @asked
  end

  def test_an_answer_without_a_length_ends_with_its_connection
    assert_equal "{}", fetch("HTTP/1.0 200 OK\r\n\r\n{}")
  end

  def test_it_asks_on_a_unix_socket
    Dir.mktmpdir do |directory|
      path = File.join(directory, "a.sock")
      server = Figures::Server.open(Figures.answer("{}"), listener: UNIXServer.new(path))
      assert_equal "{}", Client.new(bind("unix://#{path}")).fetch
    ensure
      server&.close
    end
  end

  def test_what_is_no_admin_address_is_told_by_its_answer
    told = "is not an admin address of NeverBlock: " \
           'the program that listens there answered GET /status\.json with 404'
    assert_match(%r{\Ahttp://127\.0\.0\.1:\d+ #{told}}, refused("HTTP/1.1 404 No\r\n\r\n"))
    assert_match(/does not speak HTTP/, refused("SSH-2.0-OpenSSH_9.2\r\n"))
    assert_match(/with over 1048576 bytes/, refused(Figures.answer("x" * 1_100_000)))
  end

  def test_the_application_s_own_port_is_told
    ["<html>", "x", "[]", ""].each do |body|
      message = refused(Figures.answer(body))
      assert_match(%r{\Ahttp://\S+ is not an admin address of NeverBlock: .*something else; },
                   message)
      assert_includes message, "--admin"
    end
  end

  def test_a_server_without_that_page_is_too_old
    pages = "404 Not Found: there are / /health /ready /metrics /status.json\n"
    server = Figures::Server.open(Figures.answer(pages, status: "404 Not Found"))
    client = Client.new(bind(server.url))
    error = assert_raises(Unreachable) { client.fetch("/fibers.json?limit=1") }
    assert_match(%r{\Ano /fibers\.json at http://127\.0\.0\.1:\d+: that NeverBlock is older},
                 error.message)
    assert_equal ["GET /fibers.json?limit=1 HTTP/1.0"], server.asked
  ensure
    server&.close
  end

  def test_a_cut_answer_is_no_document
    assert_match(
      /the response is incomplete/, refused("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}")
    )
    assert_match(/the response is incomplete/, refused("HTTP/1.1 200 OK\r\nContent-"))
  end

  def test_nobody_there_says_what_to_look_at
    port = TCPServer.open("127.0.0.1", 0) { |server| server.local_address.ip_port }
    url = "http://127.0.0.1:#{port}"
    error = assert_raises(Unreachable) { Client.new(bind(url)).fetch }
    assert_equal "there is no answer from #{url}: nothing listens there; " \
                 "check that the server runs, and was started with --admin #{url}", error.message
    {
      "unix:///no/such.sock" => "there is no such socket",
      "http://no-such-host.invalid:1" => "the host \"no-such-host.invalid\" has no address"
    }.each do |address, words|
      error = assert_raises(Unreachable) { Client.new(bind(address)).fetch }
      assert_includes error.message, words
    end
  end

  # The kernel takes the connection; nobody ever answers.
  def test_a_server_that_is_stuck_is_not_waited_for
    TCPServer.open("127.0.0.1", 0) do |server|
      url = "http://127.0.0.1:#{server.local_address.ip_port}"
      error = assert_raises(Unreachable) { Client.new(bind(url), timeout_s: 0.05).fetch }
      assert_match(/nothing came within 0\.05 s/, error.message)
    end
  end
end
