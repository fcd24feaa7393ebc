# frozen_string_literal: true

# A server that speaks TLS, as clients of OpenSSL see it: handshakes, bytes of every kind both ways,
# files, hijacked connections, ends, and certificates that are renewed while it serves.
# NB_TEST_OVER=tls runs the other suites over TLS.

require "digest"
require "json"
require "net/http"
require "neverblock"
require "open3"

require_relative "../support/certificates"
require_relative "../support/self_signed_certificate"
require_relative "../support/server_process_case"
require_relative "../support/tls_client"

module TLSCase
  FILE_BYTES = 20_000_000
  APP = <<~'RACKUP'
    HIJACKED = lambda do |io|
      io.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
      while (line = io.gets)
        io.write(line.upcase)
        break if line == "bye\n"
      end
      io.write("the end")
      io.close
    end
    run lambda { |env|
      case env["PATH_INFO"]
      when "/env"
        keys = %w[rack.url_scheme HTTPS SERVER_NAME SERVER_PORT SERVER_PROTOCOL]
        [200, {}, [env.slice(*keys).inspect.gsub(" => ", "=>")]] # as before Ruby 3.4
      when "/size" then [200, {}, [env["rack.input"].read.bytesize.to_s]]
      when "/big" then [200, {}, ["x" * 5_000_000]]
      when "/parts" then [200, {}, ->(stream) { 50.times { |n| stream.write("#{n},") }; stream.close }]
      when "/full"
        io = env["rack.hijack"].call
        Thread.new { HIJACKED.call(io) }
        [200, {}, []]
      when "/partial" then [200, { "rack.hijack" => HIJACKED_PARTIAL }, nil]
      when "/echo"
        io = env["rack.hijack"].call
        Thread.new do
          io.write("HTTP/1.1 200 OK\r\n\r\n")
          IO.copy_stream(io, io)
          io.close
        end
        [200, {}, []]
      when "/after"
        io = env["rack.hijack"].call
        file = env["QUERY_STRING"]
        Thread.new do
          io.write("HTTP/1.1 200 OK\r\n\r\nall")
          io.close_write
          sleep 0.01 until File.exist?("#{file}.begin")
          File.binwrite("#{file}.part", io.read)
          File.rename("#{file}.part", file)
          io.close
        end
        [200, {}, []]
      when "/select"
        io = env["rack.hijack"].call
        Thread.new do
          io.write("HTTP/1.1 200 OK\r\n\r\n")
          ready = IO.select([io], nil, nil, 60)
          io.write(ready ? io.read_nonblock(100) : "nothing came")
          io.close
        end
        [200, {}, []]
      else [404, {}, []]
      end
    }
    HIJACKED_PARTIAL = ->(io) { io.write("partly"); io.close }
  RACKUP

  def self.folder
    @folder ||= Dir.mktmpdir("neverblock-tls").tap do |folder|
      File.binwrite(File.join(folder, "large.bin"), Random.new(1).bytes(FILE_BYTES))
      File.write(File.join(folder, "small.txt"), "small\n")
      Minitest.after_run { FileUtils.rm_rf(folder) }
    end
  end

  def self.included(base)
    base.extend(ClassMethods)
  end

  module ClassMethods
    def app = APP

    def server_options
      { binds: ["https://127.0.0.1:0"],
        options: ["--public", TLSCase.folder, "--admin", "http://127.0.0.1:0", *more_options] }
    end

    def more_options = []
  end

  def client(**options, &block)
    TLSClient.new(server.url, **options, &block)
  end

  # @return [Object] what the block returns for a connection that is closed then
  def on_connection(**options)
    one = client(**options)
    yield one
  ensure
    one&.close
  end

  def test_the_environment_says_https
    on_connection do |one|
      status, _, body = one.get("/env")

      assert_equal 200, status
      assert_match(/"rack.url_scheme"=>"https"/, body)
      assert_match(/"HTTPS"=>"on"/, body)
      assert_match(/"SERVER_PORT"=>"443"/, body)
    end
  end

  def test_both_versions_of_tls_serve_many_requests_on_a_connection
    { OpenSSL::SSL::TLS1_2_VERSION => "TLSv1.2",
OpenSSL::SSL::TLS1_3_VERSION => "TLSv1.3" }.each do |version, name|
      one = client { |context| context.max_version = version }

      assert_equal name, one.socket.ssl_version
      30.times { assert_equal 200, one.get("/env").first }
      one.close
    end
  end

  def test_older_versions_are_refused
    error = assert_raises(OpenSSL::SSL::SSLError, Errno::ECONNRESET) do
      client { |context| context.max_version = OpenSSL::SSL::TLS1_1_VERSION }
    end
    assert_match(/version|protocol|reset/i, error.message)
  end

  def test_bodies_go_both_ways
    on_connection do |one|
      sent = Random.bytes(3_000_000)
      one.write("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: #{sent.bytesize}\r\n\r\n")
      one.write(sent)

      assert_equal "3000000", one.response.last
      assert_equal 5_000_000, one.get("/big").last.bytesize
      assert_equal 50.times.map { |n| "#{n}," }.join, one.get("/parts").last
    end
  end

  def test_files_are_sent_whole_and_in_ranges
    wanted = File.binread(File.join(TLSCase.folder, "large.bin"))
    on_connection do |one|
      assert_equal "small\n", one.get("/small.txt").last
      assert_equal Digest::SHA256.hexdigest(wanted), Digest::SHA256.hexdigest(one.get("/large.bin").last)
      one.write("GET /large.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=1000001-3000000\r\n\r\n")

      assert_equal wanted.byteslice(1_000_001, 2_000_000), one.response.last
    end
  end

  def test_many_downloads_at_once_beside_small_requests
    digest = Digest::SHA256.file(File.join(TLSCase.folder, "large.bin")).hexdigest
    downloads = Array.new(6) do
      Thread.new { on_connection { |one| Digest::SHA256.hexdigest(one.get("/large.bin").last) } }
    end
    20.times { on_connection { |one| assert_equal 200, one.get("/env").first } }

    assert_equal [digest] * 6, downloads.map(&:value)
  end

  def test_requests_in_a_row_are_answered_in_their_order
    on_connection do |one|
      both = %w[/small.txt /parts].map { |path| "GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n" }
      one.write(both.join * 20)
      20.times do
        assert_equal "small\n", one.response.last
        assert_equal 200, one.response.first
      end
    end
  end

  def test_sessions_resume_on_every_connection
    session = on_connection do |one|
      one.get("/env")
      one.socket.session
    end
    8.times do
      session = on_connection(session: session) do |one|
        one.get("/env")
        assert_predicate one.socket, :session_reused?
        one.socket.session
      end
    end
  end

  def test_http_1_1_is_agreed_upon_and_an_unknown_protocol_is_refused
    on_connection(protocols: %w[http/1.1]) { |one|
      assert_equal "http/1.1", one.socket.alpn_protocol
    }
    assert_raises(OpenSSL::SSL::SSLError) { client(protocols: %w[spdy/1]) }
  end

  def test_a_connection_that_is_hijacked_reads_and_writes_as_a_socket
    on_connection do |one|
      one.write("GET /full HTTP/1.1\r\nHost: a\r\n\r\nfirst\n").write("second\n").write("bye\n")

      assert_match(/\r\n\r\nFIRST\nSECOND\nBYE\nthe end\z/, one.rest)
    end
    on_connection do |one|
      one.write("GET /partial HTTP/1.1\r\nHost: a\r\n\r\n")

      assert_match(/\r\n\r\npartly\z/, one.rest)
    end
  end

  def test_a_hijacked_connection_works_with_select
    on_connection do |one|
      one.write("GET /select HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_match(/200 OK/, one.socket.gets)
      one.write("words")

      assert_match(/words\z/, one.rest)
    end
  end

  # The client reads only when it has sent all: what is echoed waits in between, and each side's
  # end is passed on.
  def test_a_hijacked_connection_passes_much_and_the_ends_of_both_sides
    sent = Random.bytes(4_000_000)
    on_connection do |one|
      one.write("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n")
      writer = Thread.new { one.write(sent) && one.finish }
      head, echoed = one.rest.split("\r\n\r\n", 2)
      writer.join

      assert_match(/200 OK/, head)
      assert_equal Digest::SHA256.hexdigest(sent), Digest::SHA256.hexdigest(echoed)
    end
  end

  # The client closes when the application has ended its side and takes nothing yet.
  def test_what_a_client_sends_before_it_closes_is_read_after_that
    sent = Random.bytes(600_000)
    Dir.mktmpdir do |folder|
      file = File.join(folder, "read")
      on_connection do |one|
        one.write("GET /after?#{file} HTTP/1.1\r\nHost: a\r\n\r\n")

        assert_match(/\r\n\r\nall\z/, one.rest)
        one.write(sent)
      end
      FileUtils.touch("#{file}.begin")
      await("the application has read all") { File.exist?(file) }

      assert_equal Digest::SHA256.hexdigest(sent), Digest::SHA256.file(file).hexdigest
    end
  end

  def test_what_is_no_tls_is_told_so
    uri = URI(server.url)
    TCPSocket.open(uri.host, uri.port) do |plain|
      plain.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      answer = plain.read

      assert_match(/\AHTTP\/1.1 400 /, answer)
      assert_match(/https:/, answer)
    end
  end

  def test_clients_that_leave_in_the_middle_leave_nothing
    20.times do |number|
      uri = URI(server.url)
      plain = TCPSocket.new(uri.host, uri.port)
      plain.write("\x16\x03\x01\x02\x00\x01".b.byteslice(0, number % 7))
      plain.close
      cut = client
      cut.write("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
      cut.socket.readpartial(100)
      cut.socket.to_io.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
      cut.socket.to_io.close
    end
    await("only this test's connections are left") { open_connections.zero? }
    on_connection { |one| assert_equal 200, one.get("/env").first }
  end

  def test_handshakes_are_counted_by_how_they_end
    on_connection { |one| one.get("/env") }
    text = Net::HTTP.get(URI("#{server.admin_url}/metrics"))

    assert_operator text[/tls_handshakes_total\{result="full"\} (\d+)/, 1].to_i, :>=, 1
    assert_match(/tls_handshakes_total\{result="plain"\} \d+/, text)
    assert_operator text[/tls_sessions_total\{version="1.3"\} (\d+)/, 1].to_i, :>=, 1
  end

  def test_the_kernel_makes_the_records_where_it_can
    on_connection { |one| one.get("/small.txt") }
    text = Net::HTTP.get(URI("#{server.admin_url}/metrics"))
    used = text[/^neverblock_tls_kernel_sessions_total (\d+)/, 1].to_i

    assert_equal NeverBlock::TLSContext.kernel?, used.positive?
  end

  def test_the_end_of_the_certificate_is_told
    one = client
    ends = one.socket.peer_cert.not_after
    one.close
    text = Net::HTTP.get(URI("#{server.admin_url}/metrics"))
    labels = "address=\"#{server.url}\",number=\"1\",name=\"localhost\",key=\"EC\""
    assert_includes text, "tls_certificate_expiry_seconds{#{labels}} #{ends.to_i}\n"
    told = JSON.parse(Net::HTTP.get(URI("#{server.admin_url}/status.json")))
    certificate = told.fetch("tls").fetch("certificates").first
    assert_equal [server.url, "localhost", "EC", ends.getutc.strftime("%Y-%m-%dT%H:%M:%SZ")],
                 certificate.values_at("address", "name", "key", "expires_at")
    assert_in_delta 30 * 86_400, certificate.fetch("expires_in_s"), 86_400
  end

  private

  def open_connections
    status = JSON.parse(Net::HTTP.get(URI("#{server.admin_url}/status.json")))
    status.fetch("connections").fetch("open")
  end

  def await(what)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Patience::SECONDS
    until yield
      flunk "not: #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
      sleep 0.02
    end
  end
end

class TLSTest < ServerProcessCase
  include TLSCase

  def test_curl_trusts_a_certificate_of_the_given_authority
    skip "curl is not installed" unless system("which curl > /dev/null 2>&1")
    Dir.mktmpdir do |folder|
      certificate = SelfSignedCertificate.new
      File.write("#{folder}/cert.pem", certificate.pem)
      File.write("#{folder}/key.pem", certificate.key_pem)
      bind = "https://127.0.0.1:0?cert=#{folder}/cert.pem&key=#{folder}/key.pem"
      ServerProcess.run(TLSCase::APP, binds: [bind]) do |one|
        out, status = Open3.capture2e("curl", "-sS", "--cacert", "#{folder}/cert.pem",
                                      "#{one.url}/env")

        assert_predicate status, :success?, out
        assert_match(/https/, out)
        renew(one, folder)
      end
    end
  end

  def test_a_client_that_says_nothing_does_not_delay_a_stop
    Dir.mktmpdir do |folder|
      file = "#{folder}/neverblock.rb"
      File.write(file, "timeouts { handshake 3600; shutdown 3600 }\n")
      binds = ["https://127.0.0.1:0"]
      ServerProcess.run(TLSCase::APP, binds: binds, options: ["-C", file]) do |one|
        silent = TCPSocket.new("127.0.0.1", URI(one.url).port)
        fresh = TLSClient.new(one.url) # the server has seen the silent one before

        assert_equal 200, fresh.get("/env").first
        one.stop

        assert_nil silent.read(1)
      ensure
        [silent, fresh].compact.each(&:close)
      end
    end
  end

  # HUP looks at the files at once. A broken one changes nothing.
  def renew(one, folder)
    old = TLSClient.new(one.url)
    renewed = SelfSignedCertificate.new
    File.write("#{folder}/key.pem", renewed.key_pem)
    Process.kill("HUP", one.pid)
    one.await_stderr(/goes on with its old certificate: the key .* does not belong/)
    File.write("#{folder}/cert.pem", renewed.pem)
    Process.kill("HUP", one.pid)
    one.await_stderr(/serves the certificate of .*cert.pem/)
    fresh = TLSClient.new(one.url)

    assert_equal renewed.pem, fresh.socket.peer_cert.to_pem
    assert_equal 200, old.get("/env").first
    [old, fresh].each(&:close)
  end
end

# A front of two workers, and two I/O loops.
class TLSWorkersTest < ServerProcessCase
  include TLSCase

  def self.more_options = ["-w", "2", "--io-threads", "2"]
end

# Files are read and sent by workers alone.
class TLSAlgorithmTest < ServerProcessCase
  include TLSCase

  def self.more_options
    file = File.join(TLSCase.folder, "neverblock.rb")
    File.write(file, "sendfile { algorithm :eba }\n")
    ["-C", file]
  end
end

# Requests of the plain address are sent to the other.
class TLSRedirectTest < ServerProcessCase
  only_over :plain, "its plain address leads to the one with TLS"

  def self.app = TLSCase::APP

  def self.server_options
    file = File.join(TLSCase.folder, "redirect.rb")
    File.write(file, "redirect_https true\n")
    port = TCPServer.open("127.0.0.1", 0) { |free| free.addr[1] }
    { binds: ["https://127.0.0.1:#{port}", "http://127.0.0.1:0"], options: ["-C", file] }
  end

  def test_get_and_head_are_301_and_what_has_a_body_308_without_reading_it
    Wire::Client.open(server.urls.last) do |one|
      %w[GET HEAD].each do |verb|
        one.write("#{verb} /a/b?c=d HTTP/1.1\r\nHost: one.example:80\r\n\r\n")
        answer = one.response(method: verb)

        assert_equal 301, answer.status
        assert_equal "https://one.example:#{port}/a/b?c=d", answer["location"]
      end
      one.write("POST /a HTTP/1.1\r\nHost: one.example\r\nContent-Length: 5\r\n\r\nabcde")
      answer = one.response(method: "POST")

      assert_equal 308, answer.status
      assert_equal "https://one.example:#{port}/a", answer["location"]
      assert_equal :eof, one.ending
    end
  end

  # The longest that limits { target } allows, over both protocols.
  def test_an_address_of_any_length_is_kept
    [100, 500, 5_000, 15_000].each do |size|
      target = "/#{"a" * (size - 100)}?#{"b" * 90}"
      Wire::Client.open(server.urls.last) do |one|
        one.write("GET #{target} HTTP/1.1\r\nHost: one.example\r\n\r\n")

        assert_equal "https://one.example:#{port}#{target}", one.response["location"]
      end
      next unless http2?

      out, = Open3.capture2("curl", "-s", "--http2-prior-knowledge", "-o", File::NULL, "-w",
                            "%{http_version} %{redirect_url}", "#{server.urls.last}#{target}")

      assert_equal "2 https://127.0.0.1:#{port}#{target}", out
    end
  end

  def test_a_request_without_host_is_400
    Wire::Client.open(server.urls.last) do |one|
      one.write("GET / HTTP/1.0\r\n\r\n")

      assert_equal 400, one.response(version: "1.0").status
    end
  end

  def test_the_secure_address_serves
    one = TLSClient.new(server.url)

    assert_equal 200, one.get("/env").first
    one.close
  end

  def port
    URI(server.url).port
  end

  # Whether the server and curl speak it.
  def http2?
    _, status = Open3.capture2("curl", "-s", "--http2-prior-knowledge", "-o", File::NULL,
                               server.urls.last)
    status.success?
  rescue Errno::ENOENT
    false
  end
end

# Clients show certificates of an authority.
class TLSClientCertificateTest < ServerProcessCase
  AUTHORITY = Certificates.new
  APP = <<~'RACKUP'
    run lambda { |env|
      found = env.select { |name, _| name.start_with?("SSL_CLIENT_") }
      peer = env["puma.peercert"]
      told = { **found, "peer" => peer && peer.subject.to_s }
      [200, {}, [told.inspect.gsub(" => ", "=>")]] # as before Ruby 3.4
    }
  RACKUP

  def self.app = APP

  def self.server_options
    File.write(File.join(TLSCase.folder, "ca.pem"), AUTHORITY.ca_pem)
    file = File.join(TLSCase.folder, "verify.rb")
    ca = File.join(TLSCase.folder, "ca.pem")
    File.write(file, "tls { verify :#{verify}; ca #{ca.inspect} }\n")
    { binds: ["https://127.0.0.1:0"], options: ["-C", file, *more_options] }
  end

  def self.verify = :optional
  def self.more_options = []

  def ask(issued)
    one = TLSClient.new(server.url) do |context|
      context.add_certificate(issued.certificate, issued.key, issued.chain) if issued
    end
    one.get("/").last
  ensure
    one&.close
  end

  def test_the_environment_has_what_the_client_has_shown
    issued = AUTHORITY.issue("alice")
    3.times do
      body = ask(issued)

      assert_match(/"SSL_CLIENT_VERIFY"=>"SUCCESS"/, body)
      assert_match(/"SSL_CLIENT_S_DN"=>"CN=alice"/, body)
      assert_match(/"SSL_CLIENT_I_DN"=>"CN=test authority"/, body)
      assert_match(/"SSL_CLIENT_M_SERIAL"=>"0?#{issued.certificate.serial.to_s(16)}"/, body)
      assert_includes body, issued.certificate.to_pem.dump[1..-2]
      assert_match(%r{"peer"=>"/CN=alice"}, body)
    end
    assert_match(/CN=bob/, ask(AUTHORITY.issue("bob", intermediate: true)))
  end

  def test_a_certificate_of_somebody_else_ends_the_connection
    assert_raises(OpenSSL::SSL::SSLError, Errno::ECONNRESET, Errno::EPIPE, NoMethodError) do
      ask(Certificates.new.issue("mallory"))
    end
  end

  def test_none_is_told
    assert_match(/"SSL_CLIENT_VERIFY"=>"NONE"/, ask(nil))
  end

  # A field of the client's cannot say so.
  def test_a_field_of_that_name_changes_nothing
    one = TLSClient.new(server.url)
    one.write("GET / HTTP/1.1\r\nHost: a\r\nSSL-CLIENT-VERIFY: SUCCESS\r\n" \
              "SSL_CLIENT_VERIFY: SUCCESS\r\n\r\n")

    assert_match(/\A\{"SSL_CLIENT_VERIFY"=>"NONE"/, one.response.last)
    one.close
  end
end

# Two addresses, of which one asks for certificates.
class TLSAddressClientsTest < ServerProcessCase
  AUTHORITY = Certificates.new

  def self.app = TLSClientCertificateTest::APP

  def self.server_options
    ca = File.join(TLSCase.folder, "address-ca.pem")
    File.write(ca, AUTHORITY.ca_pem)
    { binds: ["https://127.0.0.1:0", "https://localhost:0?verify=required&ca=#{ca}"] }
  end

  def test_one_asks_for_a_certificate_and_the_other_does_not
    assert_equal "{\"peer\"=>nil}", ask(server.urls.first)
    assert_match(/"SSL_CLIENT_S_DN"=>"CN=carol"/, ask(server.urls.last, AUTHORITY.issue("carol")))
  end

  def test_a_session_of_the_other_does_not_stand_for_a_certificate
    [OpenSSL::SSL::TLS1_2_VERSION, OpenSSL::SSL::TLS1_3_VERSION].each do |version|
      first = TLSClient.new(server.urls.first) { |context| context.max_version = version }
      first.get("/")
      session = first.socket.session
      first.close
      assert_raises(OpenSSL::SSL::SSLError, Errno::ECONNRESET, Errno::EPIPE, NoMethodError) do
        ask(server.urls.last, session: session) { |context| context.max_version = version }
      end
    end
  end

  private

  def ask(url, issued = nil, session: nil)
    one = TLSClient.new(url, session: session) do |context|
      yield context if block_given?
      context.add_certificate(issued.certificate, issued.key, issued.chain) if issued
    end
    one.get("/").last
  ensure
    one&.close
  end
end

# The same where each client has to show one, behind a front.
class TLSClientCertificateRequiredTest < TLSClientCertificateTest
  def self.verify = :required
  def self.more_options = ["-w", "2"]

  def test_none_is_told
    assert_raises(OpenSSL::SSL::SSLError, Errno::ECONNRESET, Errno::EPIPE, NoMethodError) { ask(nil) }
  end

  def test_a_field_of_that_name_changes_nothing
    assert_raises(OpenSSL::SSL::SSLError, Errno::ECONNRESET, Errno::EPIPE, NoMethodError) { super }
  end
end
