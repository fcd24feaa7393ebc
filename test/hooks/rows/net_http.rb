# frozen_string_literal: true

require "net/http"
require "hooks/services/holding"

HookTable.library "net/http" do
  def self.looks_up(variant, **options, &call)
    row "Net::HTTP.get", variant, **options do
      gate = name_server
      service = HookServices::Http.new(host: HookTable::Names::ADDRESS)
      inside { instance_exec(service.port, &call) }
      event { gate << "!" }
      gives "GET /a: "
    end
  end

  row "Net::HTTP.get", "by address" do
    service = http
    inside { Net::HTTP.get(service.host, "/a", service.port) }
    gives "GET /a: "
  end

  row "Net::HTTP.get", "by name, while it connects" do
    service = holding(HookServices::FullBacklog.new)
    inside { Net::HTTP.get("localhost", "/a", service.port) }
    gives "GET /a: "
  end

  looks_up("by a name that is looked up", cured: { ">= 3.4" => "tcp_fast_fallback" }) do |port|
    Net::HTTP.get("hook-table.test", "/a", port)
  end
  looks_up("by a name that is looked up, with Socket.tcp_fast_fallback", since: "3.4",
           blocks: "the application has turned it on again; it waits by select(2): Bug #21270; " \
                   "ipsocket.c, init_fast_fallback_inetsock_internal") do |port|
    Socket.tcp_fast_fallback = true # the first scheduler has turned it off
    Net::HTTP.get("hook-table.test", "/a", port)
  end

  # What is left of it when the name has one address is a connection like any other's.
  row "Net::HTTP.get", "by name, while it connects, with Socket.tcp_fast_fallback", since: "3.4" do
    service = holding(HookServices::FullBacklog.new)
    inside do
      Socket.tcp_fast_fallback = true
      Net::HTTP.get("localhost", "/a", service.port)
    end
    gives "GET /a: "
  end

  row "Net::HTTP.get_response" do
    service = http
    inside { Net::HTTP.get_response(URI(service.uri("/a"))).body }
    gives "GET /a: "
  end

  row "Net::HTTP.post" do
    service = http
    inside { Net::HTTP.post(URI(service.uri("/a")), "form").body }
    gives "POST /a: form"
  end

  row "Net::HTTP.post_form" do
    service = http
    inside { Net::HTTP.post_form(URI(service.uri("/a")), "x" => "1").body }
    gives "POST /a: x=1"
  end

  row "Net::HTTP.start", "TLS handshake" do
    service = http(hold: :handshake, tls: true)
    inside do
      Net::HTTP.start(service.host, service.port, use_ssl: true,
                      cert_store: HookServices::Certificate.store) { |http| http.get("/a").body }
    end
    gives "GET /a: "
  end

  row "Net::HTTP.start", "over TLS" do
    service = http(tls: true)
    inside do
      Net::HTTP.start(service.host, service.port, use_ssl: true,
                      cert_store: HookServices::Certificate.store) { |http| http.get("/a").body }
    end
    gives "GET /a: "
  end

  row "Net::HTTP#get", "second on a persistent connection" do
    service = http(hold: "/b")
    inside do
      Net::HTTP.start(service.host, service.port) do |http|
        [http.get("/a").body, http.get("/b").body]
      end
    end
    gives { |bodies| bodies == ["GET /a: ", "GET /b: "] && service.connections == 1 }
  end

  row "Net::HTTP#head" do
    service = http
    inside do
      Net::HTTP.start(service.host, service.port) { |http| http.head("/a")["Content-Length"] }
    end
    gives "9"
  end

  row "Net::HTTP#post", "a body that is taken slowly" do
    service = http(hold: :read)
    body = "x" * (16 << 20)
    inside do
      Net::HTTP.start(service.host, service.port) { |http| http.post("/a", body).body.bytesize }
    end
    gives "POST /a: ".bytesize + (16 << 20)
  end

  row "Net::HTTP#request", "Expect: 100-continue" do
    service = http(hold: :continue)
    request = Net::HTTP::Post.new("/a", "Expect" => "100-continue")
    request.body = "form"
    inside do
      Net::HTTP.start(service.host, service.port) do |http|
        http.tap { http.continue_timeout = 10 }.request(request).body
      end
    end
    gives "POST /a: form"
  end

  row "Net::HTTP#request", "body_stream from a pipe" do
    service = HookServices::Http.new
    reader, writer = IO.pipe
    request = Net::HTTP::Post.new("/a", "Transfer-Encoding" => "chunked")
    request.body_stream = reader
    inside { Net::HTTP.start(service.host, service.port) { |http| http.request(request).body } }
    event { writer.write("first,") }
    event { writer.tap { writer.write("second") }.close }
    gives "POST /a: first,second"
  end

  row "Net::HTTP#request", "persistent, closed by the server meanwhile" do
    service = http(hold: "/b")
    inside do
      http = Net::HTTP.new(service.host, service.port).start
      first = http.get("/a").body
      service.hang_up
      [first, http.get("/b").body]
    ensure
      http&.finish
    end
    gives { |bodies| bodies == ["GET /a: ", "GET /b: "] && service.connections == 2 }
  end

  row "Net::HTTPResponse#read_body", "in segments" do
    service = http(hold: :body)
    inside do
      parts = []
      Net::HTTP.start(service.host, service.port) do |http|
        http.request_get("/a") { |response| response.read_body { |part| parts << part } }
      end
      parts - [""] # what had not come yet
    end
    gives ["GET ", "/a: "]
  end

  row "Net::HTTPResponse#read_body", "until the connection ends" do
    service = holding(HookServices::Peer.new do |socket, gate|
      socket.gets("\r\n\r\n")
      socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf")
      gate.pass
      socket.write("full")
    end)
    inside { Net::HTTP.get(service.host, "/a", service.port) }
    gives "halffull"
  end

  row "Net::HTTPResponse#read_body", "chunked" do
    service = holding(HookServices::Peer.new do |socket, gate|
      socket.gets("\r\n\r\n")
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
      gate.pass
      socket.write("4\r\nfull\r\n0\r\n\r\n")
    end)
    inside { Net::HTTP.get(service.host, "/a", service.port) }
    gives "halffull"
  end

  row "Net::HTTP#open_timeout" do
    service = HookServices::FullBacklog.new
    reached { service.reached? }
    elapses
    inside do
      Net::HTTP.start(service.host, service.port, open_timeout: 0.5) { |http| http.get("/a") }
    end
    raises Net::OpenTimeout
  end

  row "Net::HTTP#read_timeout" do
    service = HookServices::Http.new(hold: :head)
    reached { service.reached? }
    elapses
    inside do
      Net::HTTP.start(service.host, service.port, read_timeout: 0.5, max_retries: 0) do |http|
        http.get("/a")
      end
    end
    raises Net::ReadTimeout
  end

  row "Net::HTTP#write_timeout" do
    service = HookServices::Http.new(hold: :read)
    reached { service.reached? }
    elapses
    body = "x" * (16 << 20)
    inside do
      Net::HTTP.start(service.host, service.port, write_timeout: 0.5, max_retries: 0) do |http|
        http.post("/a", body)
      end
    end
    raises Net::WriteTimeout
  end

  row "Net::HTTP#ssl_timeout", "TLS handshake" do
    service = HookServices::Http.new(hold: :handshake, tls: true)
    reached { service.reached? }
    elapses
    inside do
      Net::HTTP.start(service.host, service.port, use_ssl: true, open_timeout: 0.5) do |http|
        http.get("/a")
      end
    end
    raises Net::OpenTimeout
  end

  row "Net::HTTP.get", "inside Timeout.timeout" do
    service = HookServices::Http.new(hold: :head)
    reached { service.reached? }
    elapses
    inside do
      Timeout.timeout(0.5, HookServices::Late) { Net::HTTP.get(service.host, "/a", service.port) }
    end
    raises HookServices::Late
  end

  row "Net::HTTP.new", "through a proxy" do
    proxy = http
    inside do
      Net::HTTP.new("origin.test", 80, proxy.host, proxy.port).start { |http| http.get("/a").body }
    end
    gives "GET http://origin.test/a: "
  end

  row "Net::HTTP.new", "TLS through a proxy" do
    origin = HookServices::Http.new(tls: true)
    proxy = http(hold: :connect)
    inside do
      client = Net::HTTP.new(origin.host, origin.port, proxy.host, proxy.port)
      client.use_ssl = true
      client.cert_store = HookServices::Certificate.store
      client.start { |http| http.get("/a").body }
    end
    gives "GET /a: "
  end
end

HookTable.library "net/protocol" do
  {
    "Net::BufferedIO#read" => ->(io) { io.read(8) },
    "Net::BufferedIO#read_all" => ->(io) { io.read_all[0, 8] },
    "Net::BufferedIO#readuntil" => ->(io) { io.readuntil("l\r\n").chomp },
    "Net::BufferedIO#readline" => ->(io) { io.readline },
    "Net::InternetMessageIO#each_message_chunk" => ->(io) {
      [].tap { |lines| io.each_message_chunk { |line| lines << line } }.first.chomp
    }
  }.each do |name, call|
    row name do
      client, server = tcp_pair
      io = (name.start_with?("Net::I") ? Net::InternetMessageIO : Net::BufferedIO).new(client)
      inside { call.call(io) }
      event { server.write("half") }
      event { server.tap { server.write("full\r\n.\r\n") }.close }
      gives "halffull"
    end
  end

  row "Net::BufferedIO#write" do
    client, server = UNIXSocket.pair
    bytes = fill(client)
    inside { Net::BufferedIO.new(client).write("x" * 1000) }
    event { drain(server, bytes) }
    gives 1000
  end
end
