# frozen_string_literal: true

require "socket"

HookTable.library "Socket" do
  # An address that a connection waits for: of a listener whose queue is full. The event empties it.
  # @return [Array(Addrinfo, Proc)]
  def self.connects(name, variant = nil, **options, &call)
    row name, variant, **options do
      listener, address, @queued = full_listener
      inside { instance_exec(address, &call).tap(&:getpeername).close || true }
      event { other_thread { loop { @queued << listener.accept } } }
      gives true
    end
  end

  # The connection itself waits: its first packet was dropped, and is sent again after a second.
  connects("TCPSocket.new", "by address", also: "TCPSocket.open") do |address|
    TCPSocket.new(address.ip_address, address.ip_port)
  end
  connects("TCPSocket.new", "by name") { |address| TCPSocket.new("localhost", address.ip_port) }
  connects("TCPSocket.new", "within a time", since: "3.0") do |address|
    TCPSocket.new(address.ip_address, address.ip_port, connect_timeout: 60)
  end
  connects("Socket.tcp", "by address") { |address| Socket.tcp(address.ip_address, address.ip_port) }
  connects("Socket.tcp", "by name, within a time") do |address|
    Socket.tcp("localhost", address.ip_port, connect_timeout: 60)
  end

  # Before there is anything to connect to: the name is looked up.
  def self.looks_up(name, variant, **options, &call)
    row name, variant, **options do
      gate = name_server
      listener = TCPServer.new(HookTable::Names::ADDRESS, 0)
      inside { instance_exec(listener.local_address.ip_port, &call).remote_address.ip_address }
      event { gate << "!" }
      gives HookTable::Names::ADDRESS
    end
  end

  looks_up("TCPSocket.new", "by a name that is looked up",
           cured: { ">= 3.4" => "tcp_fast_fallback" }) do |port|
    TCPSocket.new("hook-table.test", port)
  end
  looks_up("TCPSocket.new", "by a name that is looked up, with fast_fallback", since: "3.4",
           blocks: "that is what was asked for; it waits by select(2): Bug #21270; " \
                   "ipsocket.c, init_fast_fallback_inetsock_internal") do |port|
    TCPSocket.new("hook-table.test", port, fast_fallback: true)
  end
  looks_up("Socket.tcp", "by a name that is looked up") do |port|
    Socket.tcp("hook-table.test", port)
  end
  looks_up("Socket.tcp", "by a name that is looked up, with fast_fallback", since: "3.4") do |port|
    Socket.tcp("hook-table.test", port, fast_fallback: true)
  end
  connects("Socket#connect") do |address|
    Socket.new(:INET, :STREAM).tap { |socket| socket.connect(address) }
  end
  connects(
    "Addrinfo#connect",
    also: %w[Addrinfo#connect_from Addrinfo#connect_to Addrinfo#connect_internal]
  ) { |address| address.connect }
  connects("Addrinfo#connect", "within a time") { |address| address.connect(timeout: 60) }
  connects("Socket#connect_nonblock", "and wait_writable") do |address|
    socket = Socket.new(:INET, :STREAM)
    socket.connect_nonblock(address, exception: false)
    socket.wait_writable
    socket
  end

  # --- accepting ----------------------------------------------------------------------------------

  def self.accepts(name, variant = nil, **options, &call)
    row name, variant, **options do
      listener = TCPServer.new("127.0.0.1", 0)
      port = listener.local_address.ip_port
      inside { instance_exec(listener, &call).readpartial(5) }
      event do
        Thread.new do
          @client = TCPSocket.new("127.0.0.1", port).tap { |client| client << "hello" }
        end.join
      end
      gives "hello"
    end
  end

  accepts("TCPServer#accept") { |listener| listener.accept }
  accepts("TCPServer#sysaccept") { |listener| IO.for_fd(listener.sysaccept, "r+") }
  as_socket = ->(io) { Socket.for_fd(io.dup.tap { |copy| copy.autoclose = false }.fileno) }
  accepts("Socket#accept") { |listener| as_socket.call(listener).accept.first }
  accepts("Socket#sysaccept") do |listener|
    IO.for_fd(as_socket.call(listener).sysaccept.first, "r+")
  end
  accepts("TCPServer#accept_nonblock", "and wait_readable",
          also: "Socket#accept_nonblock") do |listener|
    listener.accept_nonblock
  rescue IO::WaitReadable
    listener.wait_readable
    retry
  end
  accepts("Socket.accept_loop") do |listener|
    Socket.accept_loop(as_socket.call(listener)) { |socket, _| break socket }
  end

  row "UNIXServer#accept", also: "UNIXServer#sysaccept" do
    listener = UNIXServer.new(path("unix"))
    inside { listener.accept.readpartial(5) }
    event { (@client = UNIXSocket.new(path("unix"))) << "hello" }
    gives "hello"
  end

  row "UNIXServer#accept_nonblock", "and wait_readable" do
    listener = UNIXServer.new(path("unix"))
    inside do
      listener.accept_nonblock(exception: false) == :wait_readable &&
        listener.wait_readable.accept_nonblock.readpartial(5)
    end
    event { (@client = UNIXSocket.new(path("unix"))) << "hello" }
    gives "hello"
  end

  row "TCPServer#accept", "of a listener that is closed meanwhile" do
    listener = TCPServer.new("127.0.0.1", 0)
    inside { listener.accept }
    event { listener.close }
    raises IOError
  end

  # The loops end by a break, and open their own port: the address is found among the process's
  # listeners.
  row "Socket.tcp_server_loop", also: %w[Socket.tcp_server_sockets] do
    port = nil
    inside do
      Socket.tcp_server_sockets("127.0.0.1", 0) do |listeners|
        port = listeners.first.local_address.ip_port
        Socket.accept_loop(listeners) { |socket, _| break socket.readpartial(5) }
      end
    end
    reached { port }
    event { Thread.new { (@client = TCPSocket.new("127.0.0.1", port)) << "hello" }.join }
    gives "hello"
  end

  row "Socket.unix_server_loop", also: %w[Socket.unix_server_socket Socket.unix] do
    inside { Socket.unix_server_loop(path("unix")) { |socket, _| break socket.readpartial(5) } }
    reached { File.socket?(path("unix")) }
    event { (@client = UNIXSocket.new(path("unix"))) << "hello" }
    gives "hello"
  end

  row "Socket.udp_server_loop",
      also: %w[Socket.udp_server_sockets Socket.udp_server_recv Socket.udp_server_loop_on] do
    port = nil
    inside do
      Socket.udp_server_sockets("127.0.0.1", 0) do |sockets|
        port = sockets.first.local_address.ip_port
        Socket.udp_server_loop_on(sockets) { |message, _| break message }
      end
    end
    reached { port }
    event { UDPSocket.new.send("hello", 0, "127.0.0.1", port) }
    gives "hello"
  end

  # --- receiving and sending ----------------------------------------------------------------------

  def self.receives(name, variant = nil, gives: "hello", **options, &call)
    row name, variant, **options do
      one, other = UNIXSocket.pair
      inside { instance_exec(one, &call) }
      event { other << "hello" }
      gives gives
    end
  end

  receives("BasicSocket#recv") { |socket| socket.recv(100) }
  receives("BasicSocket#recv", "into a buffer") do |socket|
    (+"").tap { |buffer| socket.recv(100, 0, buffer) }
  end
  receives("BasicSocket#recvmsg") { |socket| socket.recvmsg(100).first }
  receives("BasicSocket#recv_nonblock", "and wait_readable") do |socket|
    socket.recv_nonblock(100, exception: false) == :wait_readable &&
      socket.wait_readable.recv_nonblock(100)
  end
  receives("BasicSocket#recvmsg_nonblock", "and wait_readable") do |socket|
    socket.recvmsg_nonblock(100, exception: false) == :wait_readable &&
      socket.wait_readable.recvmsg_nonblock(100).first
  end
  receives("IPSocket#recvfrom", "of a UNIX socket", also: "UNIXSocket#recvfrom") do |socket|
    socket.recvfrom(100).first
  end
  receives("IO#read", "of a socket") { |socket| socket.read(5) }
  receives("IO#gets", "of a socket", gives: "hell") do |socket|
    socket.gets("l", 4).then { |part| part + socket.gets("l") }
  end
  receives("BasicSocket#read_nonblock", "and wait_readable") do |socket|
    socket.read_nonblock(5, exception: false) == :wait_readable &&
      socket.wait_readable.read_nonblock(5)
  end

  def self.sends(name, variant = nil, **options, &call)
    row name, variant, **options do
      one, other = UNIXSocket.pair
      full = fill(one)
      arrived = +""
      inside { instance_exec(one, &call) }
      event { arrived << drain(other, full) }
      gives do |bytes|
        (bytes == 5 || bytes.equal?(one)) &&
          (arrived << drain(other, full + 5 - arrived.bytesize)).end_with?("xhello")
      end
    end
  end

  sends("BasicSocket#send") { |socket| socket.send("hello", 0) }
  sends("BasicSocket#sendmsg") { |socket| socket.sendmsg("hello") }
  sends("BasicSocket#sendmsg_nonblock", "and wait_writable") do |socket|
    socket.sendmsg_nonblock("hello", exception: false) == :wait_writable &&
      socket.wait_writable.sendmsg_nonblock("hello")
  end
  sends("IO#write", "to a socket") { |socket| socket.write("hello") }
  sends("IO#<<", "to a socket") { |socket| socket << "hello" }
  sends("BasicSocket#write_nonblock", "and wait_writable") do |socket|
    socket.write_nonblock("hello", exception: false) == :wait_writable &&
      socket.wait_writable.write_nonblock("hello")
  end

  row "UNIXSocket#recv_io" do
    one, other = UNIXSocket.pair
    reader, writer = IO.pipe
    writer << "hello"
    inside { one.recv_io.readpartial(5) }
    event { other.send_io(reader) }
    gives "hello"
  end

  row "UNIXSocket#send_io", "to a peer that does not read" do
    one, other = UNIXSocket.pair
    reader, = @pipe = IO.pipe
    full = fill(one)
    inside { one.send_io(reader) || true }
    event { drain(other, full) }
    gives { other.recv_io.is_a?(IO) }
  end

  row "BasicSocket#close_write", "the peer's read ends" do
    one, other = UNIXSocket.pair
    inside { one.read }
    event { other.close_write }
    gives ""
  end

  row "BasicSocket#shutdown", "a read of the same socket ends" do
    client, @peer = tcp_pair
    inside { client.read(1) }
    event { client.shutdown(:RD) }
    gives nil
  end

  # --- datagrams ----------------------------------------------------------------------------------

  def self.receives_datagram(name, variant = nil, **options, &call)
    row name, variant, **options do
      socket = UDPSocket.new.tap { |udp| udp.bind("127.0.0.1", 0) }
      port = socket.local_address.ip_port
      inside { instance_exec(socket, &call) }
      event { UDPSocket.new.send("hello", 0, "127.0.0.1", port) }
      gives "hello"
    end
  end

  receives_datagram("UDPSocket#recvfrom", also: "IPSocket#recvfrom") do |socket|
    socket.recvfrom(100).first
  end
  receives_datagram("UDPSocket#recvfrom_nonblock", "and wait_readable",
                    also: "Socket#recvfrom_nonblock") do |socket|
    socket.recvfrom_nonblock(100, exception: false) == :wait_readable &&
      socket.wait_readable.recvfrom_nonblock(100).first
  end
  receives_datagram("Socket#recvfrom") { |socket| as_socket.call(socket).recvfrom(100).first }
  receives_datagram("UDPSocket#recv") { |socket| socket.recv(100) }

  row "UDPSocket#send", "of a name" do
    receiver = UDPSocket.new.tap { |udp| udp.bind("127.0.0.1", 0) }
    sent = nil
    inside do
      (sent = UDPSocket.new.send("hello", 0, "localhost", receiver.local_address.ip_port)) &&
        receiver.recv(100) && receiver.recv(100)
    end
    reached { sent }
    event { UDPSocket.new.send("again", 0, "127.0.0.1", receiver.local_address.ip_port) }
    gives "again"
  end

  row "BasicSocket#send", "to a UNIX datagram socket that is full" do
    one, other = UNIXSocket.pair(:DGRAM)
    nil until one.sendmsg_nonblock("x" * 1000, exception: false) == :wait_writable
    inside { one.send("hello", 0) }
    event { loop { break if other.recv_nonblock(2000, exception: false) == :wait_readable } }
    gives 5
  end

  # --- names --------------------------------------------------------------------------------------

  # The name is one that the resolver of this machine has to ask a name server for. That server is
  # the row's own, and answers when the event says so.
  def self.resolves(name, variant = nil, **options, &call)
    row name, variant, **options do
      gate = name_server
      inside { instance_exec(&call) }
      event { gate << "!" }
      gives HookTable::Names::ADDRESS
    end
  end

  resolves("Addrinfo.getaddrinfo") do
    Addrinfo.getaddrinfo("hook-table.test", 80, :INET, :STREAM).first.ip_address
  end
  resolves("Addrinfo.tcp") { Addrinfo.tcp("hook-table.test", 80).ip_address }
  resolves("Addrinfo.udp") { Addrinfo.udp("hook-table.test", 80).ip_address }
  resolves("Addrinfo.ip") { Addrinfo.ip("hook-table.test").ip_address }
  resolves("Addrinfo.foreach") do
    Addrinfo.foreach("hook-table.test", 80, :INET, :STREAM).first.ip_address
  end
  resolves("Socket.getaddrinfo") do
    Socket.getaddrinfo("hook-table.test", 80, :INET, :STREAM).first[3]
  end
  resolves("IPSocket.getaddress") { IPSocket.getaddress("hook-table.test") }
  resolves("TCPSocket.gethostbyname") { TCPSocket.gethostbyname("hook-table.test").last }
  resolves("Socket.sockaddr_in", also: "Socket.pack_sockaddr_in") do
    Addrinfo.new(Socket.sockaddr_in(80, "hook-table.test")).ip_address
  end
  resolves("Socket.gethostbyname") do
    Socket.gethostbyname("hook-table.test") # rubocop:disable Lint/DeprecatedClassMethods
      .last.unpack("C4").join(".")
  end

  # These may hold Ruby's lock meanwhile, so that the name server has to answer by itself.
  def self.names(name, variant = nil, **options, &call)
    row name, variant, **options do
      @gate = name_server(within_s: 0.3)
      inside { instance_exec(&call) }
      elapses
      gives HookTable::Names::NAME
    end
  end

  reverse = { ">= 0" => "name_info" }
  names("Addrinfo#getnameinfo", cured: reverse) { Addrinfo.tcp("127.9.9.9", 80).getnameinfo.first }
  names("Socket.getnameinfo", cured: reverse) do
    Socket.getnameinfo(["AF_INET", 80, "127.9.9.9"]).first
  end
  names("IPSocket#peeraddr", "with the name", cured: reverse, also: "IPSocket#addr") do
    UDPSocket.new.tap { |socket| socket.connect("127.9.9.9", 80) }.peeraddr(true)[2]
  end
  names("Socket.gethostbyaddr",
        blocks: "gethostbyaddr(3) has no hook: socket.c, sock_s_gethostbyaddr") do
    address = [127, 9, 9, 9].pack("C4")
    Socket.gethostbyaddr(address).first # rubocop:disable Lint/DeprecatedClassMethods
  end
end
