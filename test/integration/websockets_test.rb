# frozen_string_literal: true

# WebSockets by the gems that applications have, each as its own documentation says, over bodies
# that are called with the connection: async-websocket, protocol-websocket, websocket-driver. On one
# process, and behind a front.

require "json"
require "open3"
require "rbconfig"

require_relative "../support/gem_bundle"
require_relative "../support/server_process_case"

module WebSocketTests
  BUNDLE = GemBundle.new(File.expand_path("websockets.gemfile", __dir__), "bundle-websockets")
  CLIENT = File.expand_path("../support/websocket_client.rb", __dir__)
  HANDSHAKE = [
    "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
  ].freeze
  APP = <<~'RACKUP'
    require "async/websocket/adapters/rack"
    require "protocol/websocket/connection"
    require "protocol/websocket/framer"
    require "websocket/driver"

    ASYNC = lambda do |env|
      Async::WebSocket::Adapters::Rack.open(env) do |connection|
        while (message = connection.read)
          connection.write(message.to_str.upcase)
          connection.flush
        end
      end or [404, {}, []]
    end

    PROTOCOL = lambda do |env|
      accept = Protocol::WebSocket::Headers::Nounce.accept_digest(env["HTTP_SEC_WEBSOCKET_KEY"])
      body = lambda do |stream|
        connection = Protocol::WebSocket::Connection.new(Protocol::WebSocket::Framer.new(stream))
        while (message = connection.read)
          connection.send_text(message.to_str.upcase)
          connection.flush
        end
      rescue Protocol::WebSocket::ClosedError
        nil
      ensure
        connection.close
      end
      headers = {
        "rack.protocol" => env["rack.protocol"].first, "sec-websocket-accept" => accept
      }
      [101, headers, body]
    end

    # The driver writes the head of the response too: what it says is read off it, and it is given
    # only what comes after.
    class Peer
      attr_reader :env, :head
      def initialize(env) = (@env, @head = env, +"")
      def url = "ws://#{@env["HTTP_HOST"]}#{@env["PATH_INFO"]}"
      def write(data) = @stream ? @stream.write(data) : @head << data
      def begin_with(stream) = @stream = stream
    end
    DRIVER = lambda do |env|
      driver = WebSocket::Driver.rack(peer = Peer.new(env))
      driver.on(:message) { |event| driver.text(event.data.upcase) }
      driver.start
      body = lambda do |stream|
        peer.begin_with(stream)
        driver.on(:close) { stream.close }
        driver.parse(stream.readpartial(4_096)) until stream.closed?
      rescue EOFError
        stream.close
      end
      lines = peer.head.lines("\r\n", chomp: true).drop(1).reject(&:empty?)
      fields = lines.to_h { |line| line.split(": ", 2) }
      [101, fields.transform_keys(&:downcase), body]
    end
    BY = { "/async" => ASYNC, "/protocol" => PROTOCOL, "/driver" => DRIVER }
    run ->(env) { BY.fetch(env["PATH_INFO"], ->(_env) { [200, {}, ["plain"]] }).call(env) }
  RACKUP

  def self.included(base)
    base.extend(ClassMethods)
  end

  module ClassMethods
    def app = APP

    def server_options
      { env: BUNDLE.env.merge("RUBYOPT" => "-rbundler/setup"), options: words }
    end
  end

  # @return [Array<Array<String>>] of each connection what it heard
  def heard(path, connections, words)
    env = BUNDLE.env.merge("RUBYOPT" => "-rbundler/setup")
    command = [RbConfig.ruby, CLIENT, "#{server.url}#{path}", connections.to_s, *words]
    out, err, status = Open3.capture3(env, *command)
    assert status.success?, err
    JSON.parse(out)
  end

  %w[/async /protocol /driver].each do |path|
    define_method("test_messages_go_both_ways_by #{path.delete("/")}") do
      words = ["hello", "x" * 70_000, "\u00e9t\u00e9"]
      expected = Array.new(20) { |number| words.map { |word| "#{word.upcase} #{number}" } }
      assert_equal expected, heard(path, 20, words)
    end
  end

  def test_one_that_waits_keeps_nobody_from_being_served
    only_over :plain, :tls, "a WebSocket is an Upgrade of HTTP/1.1"
    connect do |idle|
      idle.get("/async", *HANDSHAKE)
      idle.await_bytes("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") # RFC 6455 section 1.3
      assert_equal "plain", ask("/").body
      assert_equal [["HELLO 0"]], heard("/async", 1, ["hello"])
    end
  end

  def test_a_request_that_is_none_is_answered_as_one
    assert_equal 404, ask("/async").status
  end

  def test_a_stop_does_not_wait_for_them # as for any hijacked connection
    only_over :plain, :tls, "a WebSocket is an Upgrade of HTTP/1.1"
    ServerProcess.run(APP, **self.class.server_options) do |server|
      server.connect do |idle|
        idle.get("/driver", *HANDSHAKE)
        idle.await_bytes("\r\n\r\n")
        idle.close
        assert server.stop
      end
    end
  end
end

class WebSocketsTest < ServerProcessCase
  include WebSocketTests

  def self.words = ServerProcess.one_process("WebSockets")
end

class WebSocketsWorkersTest < ServerProcessCase
  include WebSocketTests

  def self.words = %w[-w 2]
end
