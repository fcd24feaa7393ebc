# frozen_string_literal: true

require "openssl"
require "timeout"
require "hooks/services/holding"
require "hooks/services/relay"

HookTable.library "openssl" do
  peer = ->(**options, &conversation) {
    HookServices::Peer.new(tls: true, **options, &conversation)
  }
  connect = lambda do |service|
    plain = TCPSocket.new(service.host, service.port)
    plain.setsockopt(:SOCKET, :SNDBUF, 65_536) # a bound to what the kernel takes
    OpenSSL::SSL::SSLSocket.new(plain, HookServices::Certificate.client_context).tap do |socket|
      socket.sync_close = true
      socket.connect
    end
  end
  # An acknowledgement that makes room comes within 0.2 s (TCP_DELACK_MAX, tcp.h of Linux).
  last_room_s = 0.5
  # Writes until the kernel takes nothing more. Returns how many chunks went.
  fill_tls = lambda do |socket, chunk|
    count = 0
    loop do
      count += 1 while socket.write_nonblock(chunk, exception: false) != :wait_writable
      break count unless socket.to_io.wait_writable(last_room_s)
    end
  end
  # A server that sends a part, waits for its gate, and sends the rest.
  halves = lambda do |first, second|
    peer.call do |socket, gate|
      socket.write(first)
      gate.pass
      socket.write(second)
    end
  end

  row "OpenSSL::SSL::SSLSocket#connect" do
    service = holding(HookServices::Http.new(hold: :handshake, tls: true))
    inside { connect.call(service).peer_cert.subject.to_s }
    gives "/CN=localhost"
  end

  row "OpenSSL::SSL::SSLSocket#connect", "the server's answer in pieces" do
    service = HookServices::Http.new(tls: true)
    relay = holding(HookServices::Relay.new(service, piece: 3))
    inside { connect.call(relay).peer_cert.subject.to_s }
    gives "/CN=localhost"
  end

  row "OpenSSL::SSL::SSLSocket.open" do
    service = holding(HookServices::FullBacklog.new(tls: true))
    inside do
      context = HookServices::Certificate.client_context
      socket = OpenSSL::SSL::SSLSocket.open(service.host, service.port, context: context)
      socket.connect.peer_cert.subject.to_s
    end
    gives "/CN=localhost"
  end

  row "OpenSSL::SSL::SSLSocket#accept" do
    client, server = tcp_pair
    gate = Thread::Queue.new
    other_thread do
      gate.pop
      context = HookServices::Certificate.client_context
      OpenSSL::SSL::SSLSocket.new(client, context).tap(&:connect).puts("late")
    end
    inside do
      context = HookServices::Certificate.server_context
      OpenSSL::SSL::SSLSocket.new(server, context).tap(&:accept).gets
    end
    event { gate << true }
    gives "late\n"
  end

  row "OpenSSL::SSL::SSLServer#accept" do
    listener = TCPServer.new("127.0.0.1", 0)
    port = listener.local_address.ip_port
    server = OpenSSL::SSL::SSLServer.new(listener, HookServices::Certificate.server_context)
    gate = Thread::Queue.new
    other_thread do
      gate.pop
      socket = TCPSocket.new("127.0.0.1", port)
      gate.pop
      context = HookServices::Certificate.client_context
      OpenSSL::SSL::SSLSocket.new(socket, context).tap(&:connect).puts("late")
    end
    inside { server.accept.gets }
    event { gate << true }
    event { gate << true }
    gives "late\n"
  end

  {
    "read" => ["half", "full", ->(socket) { socket.read(8) }, "halffull"],
    "gets" => ["half", "line\n", ->(socket) { socket.gets }, "halfline\n"],
    "each_line" => ["half", "line\n", ->(socket) {
      [].tap { |lines| socket.each_line { |line| lines << line } }
    }, ["halfline\n"]],
    "readline" => ["half", "line\n", ->(socket) { socket.readline }, "halfline\n"],
    "readlines" => ["a\nhalf", "line\n", ->(socket) { socket.readlines }, ["a\n", "halfline\n"]],
    "readpartial" => ["", "late", ->(socket) { socket.readpartial(10) }, "late"],
    "sysread" => ["", "late", ->(socket) { socket.sysread(10) }, "late"],
    "getc" => ["", "late", ->(socket) { socket.getc }, "l"],
    "readchar" => ["", "late", ->(socket) { socket.readchar }, "l"],
    "getbyte" => ["", "late", ->(socket) { socket.getbyte }, 108],
    "each_byte" => ["", "ab", ->(socket) {
      [].tap { |bytes| socket.each_byte { |byte| bytes << byte } }
    }, [97, 98]],
    "eof?" => ["", "", ->(socket) { socket.eof? }, true]
  }.each do |name, (first, second, call, value)|
    row "OpenSSL::SSL::SSLSocket##{name}" do
      socket = connect.call(holding(halves.call(first, second)))
      inside { call.call(socket) }
      gives value
    end
  end

  row "OpenSSL::SSL::SSLSocket#readbyte", since: "3.4" do
    socket = connect.call(holding(halves.call("", "late")))
    inside { socket.readbyte }
    gives 108
  end

  row "OpenSSL::SSL::SSLSocket#read", "over a slow peer" do
    service = peer.call do |socket, _|
      socket.gets
      socket.write("x" * 100)
    end
    relay = holding(HookServices::Relay.new(service, piece: 3, slow: false))
    socket = connect.call(relay)
    inside do
      relay.slow!
      socket.puts("go")
      socket.read(100)
    end
    gives "x" * 100
  end

  row "OpenSSL::SSL::SSLSocket#readpartial", "closed by the peer" do
    socket = connect.call(holding(peer.call { |_, gate| gate.pass }))
    inside { socket.readpartial(10) }
    raises EOFError
  end

  { "write" => ->(socket, text) { socket.write(text) },
    "print" => ->(socket, text) { socket.print(text) || text.bytesize },
    "puts" => ->(socket, text) { socket.puts(text) || text.bytesize },
    "<<" => ->(socket, text) { (socket << text) && text.bytesize } }.each do |name, call|
    row "OpenSSL::SSL::SSLSocket##{name}", "to a peer that does not read" do
      taken = Thread::Queue.new
      service = holding(peer.call do |socket, gate|
        gate.pass
        taken << socket.read(2 << 20).bytesize
      end)
      socket = connect.call(service)
      text = "x" * (2 << 20)
      inside { call.call(socket, text) }
      gives do |written|
        [text.bytesize, text.bytesize + 1].include?(written) && taken.pop == text.bytesize
      end
    end
  end

  # A record that did not fit has to be tried again with the same bytes (SSL_write(3)). Hence one
  # chunk for all.
  {
    "syswrite" => ->(socket, chunk) { socket.syswrite(chunk) },
    "flush" => ->(socket, _) { socket.flush },
    "close" => ->(socket, _) { socket.close }
  }.each do |name, call|
    row "OpenSSL::SSL::SSLSocket##{name}", "with a full socket" do
      taken = Thread::Queue.new
      socket = connect.call(holding(peer.call do |other, gate|
        gate.pass
        loop { taken << other.readpartial(4096) }
      end))
      socket.sync = false
      chunk = "x" * 4096
      chunks = fill_tls.call(socket, chunk) + 1
      socket.write(chunk) unless name == "syswrite"
      inside { call.call(socket, chunk) }
      gives { Array.new(chunks) { taken.pop } == [chunk] * chunks }
    end
  end

  row "OpenSSL::SSL::SSLSocket#gets", "inside Timeout.timeout" do
    socket = connect.call(peer.call { |_, gate| gate.pass })
    inside { Timeout.timeout(0.3, HookServices::Late) { socket.gets } }
    elapses
    raises HookServices::Late
  end

  row "OpenSSL::SSL::SSLSocket#connect_nonblock", "with IO#wait_readable" do
    service = holding(HookServices::Http.new(hold: :handshake, tls: true))
    inside do
      socket = OpenSSL::SSL::SSLSocket.new(
        TCPSocket.new(service.host, service.port), HookServices::Certificate.client_context
      )
      until (state = socket.connect_nonblock(exception: false)) == socket
        state == :wait_readable ? socket.to_io.wait_readable : socket.to_io.wait_writable
      end
      socket.peer_cert.subject.to_s
    end
    gives "/CN=localhost"
  end
end
