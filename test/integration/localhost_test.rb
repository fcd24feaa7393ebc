# frozen_string_literal: true

# A bind by name: one line "Listening on", every address of this machine that the name has, one
# port. Single process and with workers.

require "open3"
require "rbconfig"
require "socket"
require_relative "../support/workers_case"

class LocalhostTest < WorkersCase
  LOOPBACK = %w[127.0.0.1 ::1].freeze

  def setup
    skip "this machine has no ::1" unless has_ipv6?
  end

  [1, 2].each do |workers|
    name = "test_localhost_listens_on_both_loopback_addresses_and_stops_at_both_w#{workers}"
    define_method(name) do
      port = nil
      options = %w[--admin http://localhost:0]
      serve(workers: workers, binds: ["http://localhost:0"], options: options) do |server|
        assert_match(%r{\A#{Over.scheme}://localhost:[1-9]\d*\z}, server.url)
        assert_equal 1, server.urls.size
        port = URI(server.url).port
        assert_equal [200, 200], statuses(port, "/")
        assert_equal [200, 200], statuses(URI(server.admin_url).port, "/health", scheme: "http")
        assert_equal [["127.0.0.1", "127.0.0.1"], ["::1", "::1"]], peers(port)
      end
      LOOPBACK.each do |address|
        assert_raises(Errno::ECONNREFUSED) { TCPSocket.new(address, port) }
      end
    end
  end

  def test_both_go_on_over_a_reload
    serve(binds: ["http://localhost:0"]) do |server|
      port = URI(server.url).port
      2.times do |count|
        Process.kill("HUP", server.pid)
        await("reload #{count + 1}", server) { server.stderr.scan("reloaded").size > count }
        assert_equal [200, 200], statuses(port, "/")
      end
    end
  end

  # A port that only ::1 has in use.
  def held_at_one
    loop do
      TCPServer.open("::1", 0) do |holder|
        port = holder.local_address.ip_port
        TCPServer.open("127.0.0.1", port).close
        return yield port
      rescue Errno::EADDRINUSE
        next
      end
    end
  end

  def test_a_port_that_is_busy_at_one_of_them_is_refused_and_none_is_kept
    held_at_one do |port|
      _, err, status = Dir.mktmpdir do |directory|
        File.write(File.join(directory, "config.ru"), HELLO)
        root = ServerProcess::ROOT
        command = [RbConfig.ruby, "-I", File.join(root, "lib"), File.join(root, "exe/neverblock")]
        Open3.capture3(*command, "-b", "http://localhost:#{port}", chdir: directory)
      end
      assert_equal 1, status.exitstatus
      busy = /port #{port} of ::1 is busy: /
      assert_match(%r{^neverblock: cannot listen on http://localhost:#{port}: #{busy}}, err)
    end
  end

  private

  def has_ipv6?
    TCPServer.open("::1", 0) { true }
  rescue SystemCallError
    false
  end

  def statuses(port, path, scheme: Over.scheme)
    LOOPBACK.map do |address|
      host = address.include?(":") ? "[#{address}]" : address
      HTTPClient.open("#{scheme}://#{host}:#{port}") { |http| http.get(path).code.to_i }
    end
  end

  # What each connection says of its two ends.
  def peers(port)
    LOOPBACK.map do |address|
      TCPSocket.open(address, port) do |socket|
        [socket.local_address.ip_address, socket.remote_address.ip_address]
      end
    end
  end
end
