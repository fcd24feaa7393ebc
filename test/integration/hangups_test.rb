# frozen_string_literal: true

# Clients that have sent a whole request and close before its answer. Without cancel_on_disconnect
# it runs to its end, whatever the socket: that a UNIX socket is closed is known at once, before
# what it holds was read.

require "json"
require "socket"
require "tmpdir"

require_relative "../support/admin_case"
require_relative "../support/gate"
require_relative "../support/http_client"

class HangupsCase < AdminCase
  MANY = 20
  LARGE = 150_000 # more than one read takes, and less than the buffer of a socket
  FOLDER = Dir.mktmpdir("neverblock-hangups").tap do |path|
    Minitest.after_run { FileUtils.rm_rf(path) }
  end

  only_over :plain, "else the client leaves something unread, and its close is a reset"

  class << self
    def app
      <<~RACKUP
        require "socket"
        require "#{File.expand_path("../support/app_events", __dir__)}"
        run(lambda do |env|
          tag = env["QUERY_STRING"]
          if env["PATH_INFO"] == "/held"
            TCPSocket.open("127.0.0.1", Integer(tag), &:read)
          else
            AppEvents.put("ran", tag, bytes: env["rack.input"].read.bytesize)
          end
          [200, { "content-type" => "text/plain" }, ["done"]]
        end)
      RACKUP
    end

    def options
      ["-f", "1", *configuration, *ServerProcess.one_process("a test of one fiber")]
    end

    def configuration
      []
    end

    def server_options
      { **super, binds: ["http://127.0.0.1:0", "unix://#{File.join(FOLDER, name)}"] }
    end
  end

  # A request holds the only fiber, MANY others come, and their clients close.
  # @yield while all of that is so
  def close_behind_one(url, body)
    tag = new_tag
    Gate.open do |gate|
      connect do |first|
        first.get("/held?#{gate.port}")
        held = gate.arrival
        MANY.times { send_and_close(url, tag, body) }
        yield
        held.close
        assert_equal "done", first.response.body
      end
    end
    tag
  end

  def send_and_close(url, tag, body)
    socket = Wire.socket(url)
    socket.write("POST /?#{tag} HTTP/1.1\r\nHost: localhost\r\n" \
                 "Content-Length: #{body.bytesize}\r\n\r\n", body)
  ensure
    socket&.close
  end

  def figures
    JSON.parse(HTTPClient.get(URI("#{server.admin_url}/status.json")))
  end

  def await(what)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Patience::SECONDS
    until yield(figures)
      flunk "not so: #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
      sleep 0.01
    end
  end

  def await_nobody
    await("no connection is left") do |now|
      now["connections"]["open"].zero? && now["requests"].values_at("queued", "running").sum.zero?
    end
  end

  # A test of each kind of socket and size of body.
  def self.each_kind
    { tcp: 0, unix: 1 }.each do |kind, number|
      { small: "abc", large: "x" * LARGE }.each do |size, body|
        yield "#{size}_requests_over_#{kind}", number, body
      end
    end
  end
end

class HangupsTest < HangupsCase
  each_kind do |kind, number, body|
    define_method("test_#{kind}_run_though_their_clients_have_closed") do
      tag = close_behind_one(server.urls[number], body) do
        await("all are queued") { |now| now["requests"]["queued"] == MANY }
      end
      events.await("ran", tag, count: MANY)
      await_nobody
      assert_equal [body.bytesize] * MANY, events.all("ran", tag).map { |event| event["bytes"] }
    end
  end
end

class HangupsCancelledTest < HangupsCase
  def self.configuration
    path = File.join(FOLDER, "cancel.rb")
    File.write(path, "cancel_on_disconnect true\n")
    ["-C", path]
  end

  each_kind do |kind, number, body|
    define_method("test_#{kind}_are_dropped_with_their_clients") do
      before = figures["requests"]["aborted_total"]
      tag = close_behind_one(server.urls[number], body) do
        await("all are dropped") { |now| now["requests"]["aborted_total"] == before + MANY }
      end
      await_nobody
      assert_empty events.all("ran", tag)
    end
  end
end
