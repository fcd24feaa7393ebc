# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "neverblock/server/service_manager"

class ServiceManagerTest < Minitest::Test
  def setup
    @folder = Dir.mktmpdir
    @path = File.join(@folder, "notify")
    @socket = Socket.new(:UNIX, :DGRAM)
    @socket.bind(Socket.pack_sockaddr_un(@path))
  end

  def teardown
    @manager&.close
    @socket.close
    FileUtils.rm_rf(@folder)
  end

  def test_it_tells_what_the_server_does
    manager = manager("NOTIFY_SOCKET" => @path)
    manager.ready(%w[http://a http://b])
    assert_equal "READY=1\nSTATUS=Listening on http://a, http://b", received
    manager.restarting
    assert_match(/\ARELOADING=1\nMONOTONIC_USEC=\d+\nSTATUS=/, received)
    manager.stopping
    assert_match(/\ASTOPPING=1\nSTATUS=/, received)
    manager.replaced_by(7)
    assert_equal "MAINPID=7\nSTATUS=Serving", received
  end

  def test_an_abstract_name
    skip "only Linux has them" unless RUBY_PLATFORM.include?("linux")

    @socket.close
    @socket = Socket.new(:UNIX, :DGRAM)
    @socket.bind(Socket.pack_sockaddr_un("\0nb-#{Process.pid}"))
    manager("NOTIFY_SOCKET" => "@nb-#{Process.pid}").stopping
    assert_match(/\ASTOPPING=1/, received)
  end

  def test_signs_of_life_come_where_they_are_wanted_of_this_process
    manager("NOTIFY_SOCKET" => @path, "WATCHDOG_USEC" => "2000",
            "WATCHDOG_PID" => Process.pid.to_s).ready([])
    received
    3.times { assert_equal "WATCHDOG=1", received }
  end

  def test_signs_of_life_for_another_process_are_not_ours
    manager("NOTIFY_SOCKET" => @path, "WATCHDOG_USEC" => "2000", "WATCHDOG_PID" => "1").ready([])
    @manager.stopping
    assert_match(/\AREADY=1/, received)
    assert_match(/\ASTOPPING=1/, received)
  end

  def test_a_manager_that_is_not_there_or_does_not_read_keeps_nobody
    [nil, "", "vsock:2:1234", "#{@folder}/nobody", "/#{"x" * 300}"].each do |path|
      manager({ "NOTIFY_SOCKET" => path }.compact).ready(["http://a"])
    end
    manager = manager("NOTIFY_SOCKET" => @path)
    2_000.times { manager.ready(["http://a"]) }
    assert_match(/\AREADY=1/, received)
  end

  private

  def manager(env) = @manager = NeverBlock::Server::ServiceManager.of(env)

  def received
    assert @socket.wait_readable(Patience::SECONDS), "nothing came"
    @socket.recv(4_096)
  end
end
