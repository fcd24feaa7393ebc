# frozen_string_literal: true

# Certificates from a real ACME server, pebble, on the real command: both challenges, renewal under
# load, its faults, workers, and what is kept. The server begins without pebble, and is told by HUP
# to try again.

require "minitest/autorun"

require_relative "../support/certificates"
require_relative "../support/pebble"
require_relative "../support/server_process"
require_relative "../support/tls_client"
require_relative "../support/wire"
require "neverblock/tls/identity"

class AcmeTest < Minitest::Test
  only_over :plain, "it opens its own addresses, with TLS and without"

  APP = 'run ->(env) { [200, {}, [env.values_at("rack.url_scheme", "PATH_INFO").join(" ")]] }'
  NAMES = %w[one.example www.one.example].freeze
  ISSUED = /acme: one\.example, www\.one\.example: certificate issued by Pebble Inter/.freeze
  GONE = /acme: .*: no certificate: https:\S+ cannot be reached: .*; next try at/.freeze

  PUT_OFF = /acme: .*: no certificate: the last try has failed before this start; next/.freeze
  ORDERED = %r{POST /order-plz}.freeze # in pebble's log

  def setup
    problem = Pebble.missing || ("plain addresses are asked for" if ENV.key?("NB_TEST_TLS"))
    skip problem if problem

    @folder = Dir.mktmpdir("neverblock-acme")
    @state = File.join(@folder, "state")
    @pebble = Pebble.new(@folder)
  end

  def teardown
    @server&.stop
    @pebble&.stop
    FileUtils.rm_rf(@folder) if @folder
  end

  # --- issuing

  def test_by_http_01_before_a_redirect_to_https
    tls = Pebble.free_port
    start(challenge: :http_01, binds: ["https://127.0.0.1:#{tls}", "http://127.0.0.1:0"],
          lines: ["redirect_https true"])

    Patience.await("the log tells of it", -> { @server.stderr }) do
      @server.stderr.match?(/https:\S+ serves a self-signed certificate for one\.example, www\.one/)
    end
    assert_equal "CN=one.example", issuer
    issue

    assert_equal NAMES, names.sort
    assert_equal 301, plain("/.well-known/acme-challenge/x").status
  end

  def test_by_tls_alpn_01_alone_with_client_certificates_asked_for
    ca = Certificates.new
    File.write(File.join(@folder, "clients.pem"), ca.ca_pem)
    start(challenge: :tls_alpn_01, binds: ["https://127.0.0.1:0"],
          tls: "verify :required; ca #{File.join(@folder, "clients.pem").inspect}")
    issue(http: Pebble.free_port)
    client = ca.issue("client")
    one = TLSClient.new(@server.url, name: NAMES.last) do |context|
      context.add_certificate(client.certificate, client.key)
    end

    assert_match(/Pebble Intermediate/, one.socket.peer_cert.issuer.to_s)
    assert_equal "https /a", one.get("/a").last
    one.close
  end

  def test_what_fails_by_one_challenge_is_tried_by_the_other
    start
    issue(http: Pebble.free_port)

    assert_equal NAMES, names.sort
  end

  %i[http_01 tls_alpn_01].each do |challenge|
    define_method("test_with_workers_one_process_asks_by_#{challenge}_and_all_serve") do
      start(challenge: challenge, options: ["-w", "2", "--io-threads", "2"])
      issue

      assert_equal 1, @pebble.issued
      20.times { assert_match(/Pebble Intermediate/, issuer) }
    end
  end

  def test_several_certificates
    start(lines: [acme_line(%w[two.example])])
    issue
    @server.await_stderr(/acme: two\.example: certificate issued/)

    assert_equal %w[two.example], names("two.example")
    assert_equal NAMES, names(NAMES.last).sort
  end

  # --- keeping

  def test_what_is_kept_serves_at_once_after_a_restart_without_a_question
    start
    issue
    first = serial
    @server.stop
    @pebble.stop
    listener = TCPServer.new("127.0.0.1", @pebble.port)
    run_server

    assert_equal first, serial
    refute_match(/acme:|self-signed/, @server.stderr)
    @server.stop
    assert_equal :wait_readable, listener.accept_nonblock(exception: false)
  ensure
    listener&.close
  end

  def test_two_servers_that_share_the_folder_share_the_certificate
    start
    @server.await_stderr(GONE)
    first = @server
    run_server
    other = @server
    other.await_stderr(PUT_OFF)
    @server = first
    issue
    expected = serial
    @server = other
    hup
    other.await_stderr(/serves the certificate of .* from now on/)

    assert_equal expected, serial
    assert_equal 1, @pebble.issued
    refute_match(ISSUED, other.stderr)
  ensure
    first&.stop
  end

  def test_only_the_user_may_read_what_is_kept
    start
    issue
    found = Dir.glob("#{@state}/**/*").to_h do |path|
      [path.delete_prefix("#{@state}/"), File.stat(path).mode & 0o777]
    end
    place = "localhost-#{@pebble.port}-dir"

    assert_equal({ place => 0o700, "#{place}/account.key" => 0o600, "#{place}/lock" => 0o600,
                   "#{place}/one.example.pem" => 0o600 }, found)
    assert_equal 0o700, File.stat(@state).mode & 0o777
  end

  def test_a_kept_file_that_is_broken_is_replaced
    keep("-----BEGIN CERTIFICATE-----\n")
    start
    assert_match(/its certificate number 1 has no end/, @server.stderr)
    assert_equal "CN=one.example", issuer
    issue

    assert_match(/Pebble Intermediate/, issuer)
  end

  def test_a_server_that_is_started_again_and_again_does_not_ask_each_time
    start
    @server.await_stderr(GONE)
    next_try = kept_path.sub(/pem\z/, "next_try")
    assert_equal 0o600, File.stat(next_try).mode & 0o777
    @server.stop
    @pebble.start(http: Pebble.free_port, tls: Pebble.free_port)
    2.times do
      run_server
      @server.await_stderr(PUT_OFF)
      assert_equal "CN=one.example", issuer
      @server.stop
    end
    refute_match(ORDERED, @pebble.log)
    @pebble.stop
    run_server
    @server.await_stderr(PUT_OFF)
    @pebble.start(http: port(0), tls: port(1))
    hup
    @server.await_stderr(ISSUED)
    assert_match(ORDERED, @pebble.log)
    refute File.exist?(next_try)
  end

  # --- renewing

  def test_a_renewal_while_requests_run_fails_none
    old = nearly_over
    start
    @server.await_stderr(/the old one is served, which is valid until/)
    assert_equal old.certificate.serial.to_i, serial

    load = [kept_connection, new_connections]
    load.each { |one| one[:begun].pop }
    issue
    load.each { |one| one[:stop] << true }
    results = load.map { |one| one[:thread].value }

    assert_equal [[], []], results.map(&:first)
    assert_equal [old.certificate.serial.to_i, serial], results.last.last.uniq
  end

  def test_new_names_are_asked_for_while_the_kept_certificate_serves
    issued = Certificates.new.issue(NAMES.first, till: Time.now + (90 * 86_400))
    keep(issued.key_pem + issued.pem)
    start
    @server.await_stderr(GONE)
    assert_equal %w[one.example], names
    issue

    assert_equal NAMES, names.sort
  end

  def test_a_removed_file_leaves_the_old_certificate_and_is_issued_again
    start
    issue(env: { "PEBBLE_AUTHZREUSE" => "100" })
    first = serial
    FileUtils.rm(kept_path)
    hup
    Patience.await("a second certificate", -> { @server.stderr }) { serial != first }

    assert_match(/Pebble Intermediate/, issuer)
    assert_equal 2, @pebble.issued
  end

  # --- faults

  def test_refused_nonces_are_tried_again
    start
    issue(env: { "PEBBLE_WFE_NONCEREJECT" => "30" })

    assert_match(/Pebble Intermediate/, issuer)
  end

  def test_a_name_that_cannot_be_validated_is_told_and_tried_again
    start(challenge: :http_01)
    @server.await_stderr(GONE)
    @pebble.start(http: Pebble.free_port, tls: Pebble.free_port)
    hup
    @server.await_stderr(/no certificate: \S*one\.example by HTTP-01: .*refused.*; a self-signed/)
    @pebble.stop
    issue

    assert_match(/Pebble Intermediate/, issuer)
  end

  def test_a_name_that_the_acme_server_refuses_is_told
    start(names: [Pebble::BLOCKED])
    @server.await_stderr(GONE)
    @pebble.start(http: port(0), tls: port(1))
    hup
    @server.await_stderr(/no certificate: the ACME server refuses: .*policy/i)
    assert_equal "CN=#{Pebble::BLOCKED}", issuer
  end

  def test_an_acme_server_that_is_not_trusted_is_told
    start(more: { ca: nil })
    @server.await_stderr(GONE)
    @pebble.start(http: port(0), tls: port(1))
    hup
    @server.await_stderr(/is not trusted: .*certificate verify failed.*; ca: names a file/)
  end

  private

  def acme_line(names, challenge: nil, more: {})
    words = { email: "me@one.example", directory: @pebble.directory, folder: @state,
              ca: @pebble.ca, challenge: challenge, **more }.compact
    "tls { acme #{names.map(&:inspect).join(", ")}, " \
      "#{words.map { |word, value| "#{word}: #{value.inspect}" }.join(", ")} }"
  end

  def start(names: NAMES, challenge: nil, more: {}, lines: [], tls: nil, options: [],
            binds: ["http://127.0.0.1:0", "https://127.0.0.1:0"])
    @config = File.join(@folder, "neverblock.rb")
    @binds = binds
    @options = options
    File.write(@config, [acme_line(names, challenge: challenge, more: more),
                         *("tls { #{tls} }" if tls), *lines].join("\n"))
    run_server
  end

  def run_server
    @server = ServerProcess.new(APP, binds: @binds, options: ["-C", @config, *@options]).start
  end

  # Where pebble is started, and the server told to try again.
  def issue(http: nil, env: {})
    @server.await_stderr(GONE)
    plain = @server.urls.find { |url| url.start_with?("http:") }
    @pebble.start(http: http || URI(plain).port, tls: URI(https).port, env: env)
    hup
    @server.await_stderr(ISSUED)
  end

  def hup
    Process.kill("HUP", @server.pid)
  end

  def https
    @server.urls.find { |url| url.start_with?("https:") }
  end

  def port(number)
    URI(@server.urls[number]).port
  end

  def on_connection(name = NAMES.first)
    one = TLSClient.new(https, name: name)
    yield one
  ensure
    one&.close
  end

  def certificate(name = NAMES.first)
    on_connection(name) { |one| one.socket.peer_cert }
  end

  def issuer
    certificate.issuer.to_s(OpenSSL::X509::Name::RFC2253)
  end

  def serial
    certificate.serial.to_i
  end

  def names(name = NAMES.first)
    NeverBlock::TLS::Identity.names_of(certificate(name))
  end

  def plain(path)
    url = @server.urls.find { |one| one.start_with?("http:") }
    Wire::Client.open(url) do |one|
      one.write("GET #{path} HTTP/1.1\r\nHost: one.example\r\n\r\n")
      one.response
    end
  end

  def kept_path
    File.join(@state, "localhost-#{@pebble.port}-dir", "one.example.pem")
  end

  def keep(text)
    FileUtils.mkdir_p(File.dirname(kept_path), mode: 0o700)
    File.write(kept_path, text)
  end

  def nearly_over
    day = 86_400
    issued = Certificates.new.issue(*NAMES, from: Time.now - (60 * day),
till: Time.now + (29 * day))
    keep(issued.key_pem + issued.pem)
    issued
  end

  # Requests until it is told to stop, one after the other, and a last one afterwards.
  # @return [Hash] thread: its value is what went wrong and what the block returned
  def requests
    begun = Queue.new
    stop = Queue.new
    thread = Thread.new do
      wrong = []
      seen = []
      while stop.empty?
        begin
          seen << yield
        rescue StandardError => e
          wrong << e
        end
        begun << true
      end
      [wrong, seen << yield]
    end
    { begun: begun, stop: stop, thread: thread }
  end

  def kept_connection
    one = TLSClient.new(https, name: NAMES.first)
    requests { ask_on(one) }
  end

  def new_connections
    requests { on_connection { |one| ask_on(one).then { one.socket.peer_cert.serial.to_i } } }
  end

  def ask_on(client)
    status, _, body = client.get("/a")
    raise "#{status} #{body}" unless status == 200 && body == "https /a"

    body
  end
end
