# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "socket"

# Services that have a name, and canonical names, in a fiber as on a thread.
class CompatServiceNamesTest < Minitest::Test
  include SchedulerHarness

  LOCAL = "127.0.0.1"

  def setup
    @port = Socket.getservbyname("discard")
  rescue SocketError
    skip "this machine knows no services"
  end

  LOOKUPS = {
    "Addrinfo.tcp" => -> { Addrinfo.tcp(LOCAL, "discard").inspect },
    "Addrinfo.udp" => -> { Addrinfo.udp("localhost", "discard").inspect },
    "Addrinfo.getaddrinfo" => -> { Addrinfo.getaddrinfo("localhost", "discard").map(&:inspect) },
    "Addrinfo.foreach" => -> { Addrinfo.foreach(LOCAL, "discard").map(&:inspect) },
    "Addrinfo.getaddrinfo of any host" => -> { Addrinfo.getaddrinfo(nil, "discard").size },
    "a canonical name" => lambda {
      Addrinfo.getaddrinfo(LOCAL, 9, nil, :STREAM, nil, Socket::AI_CANONNAME).map(&:canonname)
    },
    "Socket.getaddrinfo" => -> { Socket.getaddrinfo(LOCAL, "discard", nil, :STREAM) },
    "Socket.sockaddr_in" => -> { Socket.sockaddr_in("discard", LOCAL) },
    "Socket.pack_sockaddr_in" => -> { Socket.pack_sockaddr_in("discard", LOCAL) },
    "a number" => -> { Addrinfo.tcp(LOCAL, "80").ip_port },
    "no service" => -> { Addrinfo.tcp(LOCAL, nil).ip_port },
    "a port that is too large" => -> { Addrinfo.tcp(LOCAL, 65_536 + 80).ip_port },
    "a service that is not known" => -> { Addrinfo.tcp(LOCAL, "no-such-service").ip_port },
    "such a service of a TCPSocket" => -> { TCPSocket.new(LOCAL, "no-such-service") },
    "an address in brackets" => -> { Addrinfo.tcp("[::1]", 80).ip_address },
    "too few arguments" => -> { TCPSocket.new(LOCAL) }
  }.freeze

  LOOKUPS.each do |name, lookup|
    define_method("test_#{name.tr(" .", "__")}_answers_as_on_a_thread") do
      answer = -> { answer(&lookup) }
      assert_equal Thread.new(&answer).value, in_fiber(&answer)
    end
  end

  def test_sockets_are_connected_and_bound_by_the_name_of_a_service
    listener = TCPServer.new(LOCAL, 0)
    ports = named(listener.local_address.ip_port) do
      in_fiber do
        TCPSocket.open(LOCAL, "discard") do |socket|
          udp = UDPSocket.new.tap { |client| client.connect(LOCAL, "discard") }
          [socket, udp].map { |client| client.remote_address.ip_port }
        end
      end
    end
    assert_equal [listener.local_address.ip_port] * 2, ports
  end

  def test_servers_listen_and_datagrams_arrive_by_the_name_of_a_service
    free = TCPServer.open(LOCAL, 0) { |server| server.local_address.ip_port }
    seen = named(free) do
      in_fiber do
        bound = UDPSocket.new.tap { |udp| udp.bind(LOCAL, "discard") }
        UDPSocket.new.send("hello", 0, LOCAL, "discard")
        [TCPServer.new(LOCAL, "discard").local_address.ip_port, bound.recv(9)]
      end
    end
    assert_equal [free, "hello"], seen
  end

  def test_the_port_is_that_of_the_kind_of_socket_and_a_thread_gives_the_name_to_ruby
    names = NeverBlock::Compat::ServiceNames
    assert_equal [@port, @port, 80, nil], in_fiber {
      [names.port("discard", :STREAM), names.port("discard", :DGRAM), names.port(80, :STREAM),
       names.port(nil, :STREAM)]
    }
    assert_equal "discard", names.port("discard", :STREAM)
  end

  private

  # Every service has this port.
  def named(port, &block)
    NeverBlock::Compat::ServiceNames.stub(:port, ->(name, _type) { name && port }, &block)
  end

  def answer
    yield
  rescue StandardError => e
    [e.class, e.message]
  end

  def in_fiber(&block)
    value = nil
    in_scheduler { fiber { value = block.call } }
    value
  end
end
