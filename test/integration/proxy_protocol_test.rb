# frozen_string_literal: true

# `proxy_protocol=on` of an address: connections begin with a header that names the client (HAProxy,
# proxy-protocol.txt), with TLS and without, by hand and by HAProxy itself.

require "ipaddr"
require "json"
require "net/http"
require "open3"
require "openssl"
require "socket"
require "tmpdir"
require_relative "../support/patience"
require_relative "../support/server_process"

class ProxyProtocolTest < Minitest::Test
  only_over :plain, "it opens its own addresses, with TLS and without"

  APP = <<~'RUBY'
    run(lambda do |env|
      [200, { "content-type" => "text/plain" },
       ["#{env["REMOTE_ADDR"]} #{env["rack.url_scheme"]} #{env["rack.input"]&.read}\n"]]
    end)
  RUBY
  PLAIN = "http://127.0.0.1:0?proxy_protocol=on"
  GET = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
  TEXT = "PROXY TCP4 192.0.2.42 127.0.0.1 56324 80\r\n"
  SIGNATURE = "\r\n\r\n\0\r\nQUIT\n".b
  IPV6 = IPAddr.new("2001:db8::7").hton + IPAddr.new("::1").hton + [56_324, 80].pack("nn")
  # With an additional field.
  BINARY = SIGNATURE + [0x21, 0x21, IPV6.bytesize + 7].pack("CCn") + IPV6 + "\x05\0\4name".b
  LOCAL = SIGNATURE + "\x20\0\0\0".b

  [[], %w[-w 2], %w[--io-threads 2]].each do |options|
    define_method("test_the_header_names_the_client_#{options.join(" ")}".strip) do
      serving(PLAIN, options: options) do |server|
        assert_equal "192.0.2.42 http ", body(server, TEXT + GET)
        assert_equal "2001:db8::7 http ", body(server, BINARY + GET)
        assert_equal "127.0.0.1 http ", body(server, LOCAL + GET)
        assert_equal "127.0.0.1 http ", body(server, "PROXY UNKNOWN\r\n#{GET}")
        server.stop
        assert_includes server.stderr, " 2001:db8::7 "
      end
    end
  end

  def test_bytes_may_come_one_by_one
    serving(PLAIN) do |server|
      [TEXT, BINARY].each do |header|
        socket = connect(server)
        (header + GET).each_char do |byte|
          socket.write(byte)
          # Else the kernel may give several at once.
          Thread.pass until unread(socket).zero?
        end
        refute_includes socket.read, "127.0.0.1"
      end
    end
  end

  def test_a_body_and_further_requests_follow
    serving(PLAIN) do |server|
      post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
      answers = ask(server, TEXT + post + post + GET)
      assert_equal ["body", "body", ""], answers.scan(/^192\.0\.2\.42 http (.*)$/).flatten
    end
  end

  def test_tls_begins_behind_the_header
    serving("https://127.0.0.1:0?proxy_protocol=on") do |server|
      tcp = connect(server)
      tcp.write(BINARY)
      tls = OpenSSL::SSL::SSLSocket.new(tcp)
      tls.connect
      tls.write(GET)
      assert_equal "2001:db8::7 https ", tls.read.lines.last.chomp

      output, = Open3.capture2e("curl", "-sk", "--http2", "--haproxy-protocol", server.url)
      assert_equal "127.0.0.1 https \n", output
    end
  end

  def test_a_unix_socket
    Dir.mktmpdir do |folder|
      path = File.join(folder, "app.sock")
      serving("unix://#{path}?mode=0600&proxy_protocol=on") do
        socket = UNIXSocket.new(path)
        socket.write(TEXT + GET)
        assert_equal "192.0.2.42 http ", socket.read.lines.last.chomp
      end
    end
  end

  def test_what_begins_otherwise_is_closed_and_told
    serving(PLAIN, options: %w[--admin http://127.0.0.1:0]) do |server|
      [GET, "PROXY TCP4 nobody\r\n#{GET}", SIGNATURE + "\x31\0\0\0".b].each do |bytes|
        assert_empty ask(server, bytes)
      end
      assert_equal "192.0.2.42 http ", body(server, TEXT + GET)
      status = JSON.parse(Net::HTTP.get(URI("#{server.admin_url}/status.json")))
      assert_equal 3, status.dig("connections", "unproxied_total")
      server.stop
      told = server.stderr.lines.grep(/PROXY protocol/)
      assert_equal 1, told.size, told
      assert_includes told.first, 'it begins with "GET / HTTP/1.1..'
    end
  end

  def test_a_header_has_the_time_of_a_handshake
    serving(PLAIN, config: "timeouts { handshake 1 }") do |server|
      ["", "PROXY "].each do |bytes|
        socket = connect(server)
        socket.write(bytes)
        assert_empty read(socket)
      end
    end
  end

  def test_a_client_without_its_header_keeps_no_server_from_stopping
    serving(PLAIN) do |server|
      silent, begun = Array.new(2) { connect(server) }
      begun.write("PROXY ")
      assert_equal "192.0.2.42 http ", body(server, TEXT + GET)
      server.stop
      assert_equal ["", ""], [silent, begun].map { |socket| read(socket) }
    end
  end

  # In haproxy's words, and what the client's connection is then.
  { "send-proxy" => "http", "send-proxy-v2" => "http",
    "send-proxy-v2-ssl ssl verify none" => "https" }.each do |words, scheme|
    define_method("test_haproxy_with_#{words.tr(" ", "_")}") do
      haproxy = system("which haproxy > /dev/null")
      skip "haproxy is missing: bin/setup --all installs it" unless haproxy

      serving("#{scheme}://127.0.0.1:0?proxy_protocol=on") do |server|
        behind_haproxy(URI(server.url).port, words) do |http|
          http.start do
            answers = Array.new(3) { http.post("/", "x" * 100_000).body }
            assert_equal ["127.0.0.1 #{scheme} #{"x" * 100_000}\n"], answers.uniq
          end
          other = Net::HTTP.new(http.address, http.port).tap { |one| one.local_host = "127.0.0.9" }
          assert_equal "127.0.0.9 #{scheme} \n", other.get("/").body
        end
      end
    end
  end

  private

  def serving(bind, options: [], config: nil, &block)
    Dir.mktmpdir do |folder|
      if config
        File.write(path = File.join(folder, "nb.rb"), "#{config}\n")
        options = [*options, "-C", path]
      end
      ServerProcess.run(APP, binds: [bind], options: ["--log-requests", *options], &block)
    end
  end

  def connect(server)
    uri = URI(server.url)
    TCPSocket.new(uri.host, uri.port).tap { |socket| socket.setsockopt(:TCP, :NODELAY, true) }
  end

  def ask(server, bytes)
    socket = connect(server)
    socket.write(bytes)
    read(socket)
  end

  # A connection that is closed before all was read ends with a reset.
  def read(socket)
    socket.read
  rescue Errno::ECONNRESET
    ""
  end

  def body(server, bytes)
    ask(server, bytes).lines.last&.chomp
  end

  # Bytes that the server has not taken.
  def unread(socket)
    buffer = [0].pack("i")
    socket.ioctl(0x5411, buffer) # SIOCOUTQ, tcp(7)
    buffer.unpack1("i")
  end

  def behind_haproxy(port, words)
    front = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    Dir.mktmpdir do |folder|
      File.write(path = File.join(folder, "haproxy.cfg"), <<~CONFIG)
        defaults
          mode tcp
          timeout connect 5s
          timeout client 60s
          timeout server 60s
        listen front
          bind 127.0.0.1:#{front}
          server app 127.0.0.1:#{port} #{words}
      CONFIG
      pid = Process.spawn("haproxy", "-db", "-f", path, err: File.join(folder, "log"))
      http = Net::HTTP.new("127.0.0.1", front)
      Patience.await("haproxy") { http.get("/") rescue nil } # rubocop:disable Style/RescueModifier
      yield http
    ensure
      Process.kill("TERM", pid)
      Process.wait(pid)
    end
  end
end
