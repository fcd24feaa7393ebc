# frozen_string_literal: true

require_relative "../../support/fake_native"
require "neverblock/server"
require "tmpdir"
require "socket"

class ListeningTest < Minitest::Test
  # Says what a test wants to hear about who holds a port.
  Holder = Struct.new(:answer, :free) do
    def describe(port)
      answer unless port == free
    end
  end

  def test_urls_have_the_real_port
    engine = FakeNative::Engine.new([])
    urls = listening(engine).open(
      binds("http://127.0.0.1:0", "http://[::1]:8080", "unix:///run/x.sock?mode=0660")
    )
    assert_equal ["http://127.0.0.1:40123", "http://[::1]:8080", "unix:///run/x.sock"], urls
    assert_equal [
      [:listen_tcp, "127.0.0.1", 0, 5],
      [:listen_tcp, "::1", 8080, 5],
      [:listen_unix, "/run/x.sock", 0o660, 5]
    ], engine.calls
  end

  def test_the_admin_pages_have_listeners_of_their_own
    engine = FakeNative::Engine.new([])
    urls = listening(engine, admin: true).open(
      binds("http://localhost:0", "unix:///run/a.sock?mode=0600")
    )
    assert_equal ["http://localhost:40124", "unix:///run/a.sock"], urls
    assert_equal [
      [:admin_tcp, "127.0.0.1", 0],
      [:admin_tcp, "::1", 40_124],
      [:admin_unix, "/run/a.sock", 0o600]
    ], engine.calls
  end

  def test_a_busy_admin_port_is_not_mended_with_the_option_for_the_other_one
    engine = FakeNative::Engine.new([Errno::EADDRINUSE.new])
    error = assert_raises(NeverBlock::StartError) do
      listening(engine, admin: true).open(binds("http://127.0.0.1:9293"))
    end
    assert_equal "cannot listen on http://127.0.0.1:9293 (--admin, or the setting `admin`): " \
                 "port 9293 is busy: another program listens there; stop it, or choose another " \
                 "port for --admin; port 0 takes any free one",
                 error.message
  end

  # Addresses of names, as a resolver has them.
  Names = Struct.new(:found) do
    def getaddrinfo(host, *)
      found.fetch(host).map { |address| Addrinfo.tcp(address, 0) }
    end
  end

  def test_localhost_is_the_loopback_addresses_of_both_families_on_one_port
    engine = FakeNative::Engine.new([])
    assert_equal ["http://localhost:8080"], listening(engine).open(binds("http://localhost:8080"))
    assert_equal [[:listen_tcp, "127.0.0.1", 8080, 5], [:listen_tcp, "::1", 8080, 5]], engine.calls
    engine.calls.clear
    assert_equal ["http://localhost:40123"], listening(engine).open(binds("http://localhost:0"))
    assert_equal [[:listen_tcp, "127.0.0.1", 0, 5], [:listen_tcp, "::1", 40_123, 5]], engine.calls
  end

  def test_a_name_becomes_all_its_addresses_since_the_core_takes_numbers_alone
    engine = FakeNative::Engine.new([])
    names = { "app" => %w[fd00::2 192.0.2.2 192.0.2.2 192.0.2.3], "one" => %w[192.0.2.9] }
    open = listening(engine, names: names)
    assert_equal ["http://app:80", "http://192.0.2.9:80"],
                 open.open(binds("http://app:80", "http://one:80"))
    assert_equal %w[192.0.2.2 192.0.2.3 fd00::2 192.0.2.9], (engine.calls.map { |call| call[1] })
    assert_empty open.left_out
  end

  [Errno::EADDRNOTAVAIL, Errno::EAFNOSUPPORT, Errno::EACCES].each do |failure|
    define_method("test_an_address_of_a_name_that_is_not_here_is_left_out_#{failure}") do
      engine = FakeNative::Engine.new([nil, failure.new, nil, failure.new])
      open = listening(engine, names: { "app" => %w[192.0.2.2 fd00::2] })
      assert_equal ["http://127.0.0.1:8080"], open.open(binds("http://localhost:8080"))
      assert_empty open.left_out, "of localhost it is no news"
      assert_equal ["http://192.0.2.2:40123"], open.open(binds("http://app:0"))
      assert_match(
        %r{\Ahttp://app:0 does not listen on fd00::2, which app has too}, open.left_out.fetch(0)
      )
    end
  end

  def test_a_name_none_of_whose_addresses_is_here_is_refused
    engine = FakeNative::Engine.new([Errno::EADDRNOTAVAIL.new] * 2)
    error = assert_raises(NeverBlock::StartError) do
      listening(engine, names: { "app" => %w[192.0.2.2 fd00::2] }).open(binds("http://app:80"))
    end
    assert_match(
      %r{\Acannot listen on http://app:80: this machine has no address that app has; 127\.0\.0\.1},
      error.message
    )
  end

  def test_a_port_that_is_busy_at_one_address_is_given_up_at_all
    engine = FakeNative::Engine.new([nil, Errno::EADDRINUSE.new])
    error = assert_raises(NeverBlock::StartError) do
      listening(engine).open(binds("http://localhost:8080"))
    end
    assert_match(
      %r{\Acannot listen on http://localhost:8080: port 8080 of ::1 is busy: another program},
      error.message
    )
    assert_equal %i[listen_tcp listen_tcp listen_undo], engine.calls.map(&:first)
  end

  def test_any_free_port_is_one_that_is_free_at_all_addresses
    engine = FakeNative::Engine.new([nil, Errno::EADDRINUSE.new])
    assert_equal ["http://localhost:40123"], listening(engine).open(binds("http://localhost:0"))
    assert_equal [["127.0.0.1", 0], ["::1", 40_123], [], ["127.0.0.1", 0], ["::1", 40_123]],
                 (engine.calls.map { |call| call[1, 2].to_a.first(2) })
    engine = FakeNative::Engine.new([nil, Errno::EADDRINUSE.new] * 100)
    assert_raises(NeverBlock::StartError) { listening(engine).open(binds("http://localhost:0")) }
    assert_equal 16, engine.calls.count([:listen_undo]), "it ends"
    engine = FakeNative::Engine.new([Errno::EADDRINUSE.new])
    assert_raises(NeverBlock::StartError) do
      listening(engine).open(binds("http://127.0.0.1:0"))
    end
  end

  def test_a_machine_has_its_loopback_addresses_and_not_those_of_others
    addresses = NeverBlock::Server::Addresses.new
    assert addresses.here?("127.0.0.1")
    refute addresses.here?("192.0.2.254")
    assert_equal [%w[127.0.0.1 ::1]] * 3,
                 (%w[localhost LOCALHOST. app.localhost].map { |name| addresses.of(name) })
    hosts = %w[app localhost 127.0.0.1 ::1 fe80::1%eth0]
    assert_equal [true, true, false, false, false], (hosts.map { |host| addresses.name?(host) })
    assert_equal ["app", nil, nil, nil, nil], (hosts.map { |host| addresses.own_name(host) })
    assert_equal "app.example", addresses.own_name("App.Example.")
  end

  def test_a_name_without_address_is_refused_with_the_mend
    error = assert_raises(NeverBlock::StartError) do
      listening(FakeNative::Engine.new([])).open(binds("http://no-such-host.invalid:8080"))
    end
    mend = %r{write an address, such as http://127\.0\.0\.1:8080}
    assert_match(/the host "no-such-host\.invalid" has no address .*; #{mend}/, error.message)
  end

  # Has a context for each https address, and refuses the one that is broken.test.
  class Tls
    def initialize(engine)
      @engine = engine
    end

    def context(bind)
      raise NeverBlock::TLS::Unusable, "no certificate" if bind.host == "broken.test"

      "context of #{bind}"
    end

    def add(_bind, number, context)
      @engine.listener_tls(number, context)
    end
  end

  def test_an_https_address_has_one_context_at_all_its_addresses
    engine = FakeNative::Engine.new([])
    urls = listening(engine, tls: Tls.new(engine)).open(
      binds("http://127.0.0.1:80", "https://localhost:0", "https://[::1]:8443")
    )
    assert_equal ["http://127.0.0.1:80", "https://localhost:40123", "https://[::1]:8443"], urls
    assert_equal [
      [:listener_tls, 1, "context of https://localhost:0"],
      [:listener_tls, 2, "context of https://localhost:0"],
      [:listener_tls, 3, "context of https://[::1]:8443"]
    ], engine.calls.select { |call| call.first == :listener_tls }
  end

  def test_a_certificate_is_read_before_anything_is_opened
    engine = FakeNative::Engine.new([])
    error = assert_raises(NeverBlock::StartError) do
      listening(engine, tls: Tls.new(engine)).open(binds("https://broken.test:443"))
    end
    assert_equal "cannot listen on https://broken.test:443: no certificate", error.message
    assert_empty engine.calls
  end

  # URL, what the system says => what the complaint says.
  REFUSALS = [
    [
      "http://127.0.0.1:8080", Errno::EADDRINUSE,
      "port 8080 is busy: another program listens there; stop it, " \
      "or choose another port with -p 8081"
    ],
    ["http://127.0.0.1:65535", Errno::EADDRINUSE, "-p 9292"],
    ["http://127.0.0.1:80", Errno::EACCES, "port 80 needs privilege; choose one from 1024 up"],
    ["http://127.0.0.1:8080", Errno::EACCES, "the system forbids it"],
    ["http://192.0.2.1:8080", Errno::EADDRNOTAVAIL, "this machine has no address 192.0.2.1"],
    ["http://[::1]:8080", Errno::EAFNOSUPPORT, "no IPv6"],
    ["http://127.0.0.1:8080", Errno::ENOBUFS, "No buffer space available"],
    ["unix:///run/x.sock", Errno::EADDRINUSE, "another server listens there"],
    ["unix:///no/such/x.sock", Errno::ENOENT, "there is no folder /no/such; create it"],
    ["unix:///etc/passwd/x.sock", Errno::ENOTDIR, "there is no folder /etc/passwd"],
    ["unix:///run/x.sock", Errno::EACCES, "may not create files in /run"],
    ["unix:///run/x.sock", Errno::EROFS, "/run is on a read-only file system"],
    ["unix:///run/x.sock", Errno::ENAMETOOLONG, "too long"],
    ["unix:///etc/passwd", Errno::EEXIST, "/etc/passwd exists and is not a socket; remove it"]
  ].freeze

  REFUSALS.each do |url, failure, words|
    define_method("test_#{failure} for #{url} is one line with the mend") do
      engine = FakeNative::Engine.new([failure.new])
      error = assert_raises(NeverBlock::StartError) { listening(engine).open(binds(url)) }
      assert_includes error.message, "cannot listen on #{url}: "
      assert_includes error.message, words
      refute_includes error.message, "\n"
    end
  end

  def test_who_holds_a_busy_port_is_named_where_it_is_known
    listening = NeverBlock::Server::Listening.new(
      FakeNative::Engine.new([Errno::EADDRINUSE.new]), 5,
      port_holder: Holder.new("process 7 (puma) listens there", 8083)
    )
    error = assert_raises(NeverBlock::StartError) { listening.open(binds("http://127.0.0.1:8080")) }
    assert_includes error.message, "port 8080 is busy: process 7 (puma) listens there; stop it, " \
                                   "or choose another port with -p 8083, or any free one with -p 0"
  end

  def test_the_holder_of_a_port_of_this_machine_is_found
    skip "proc(5) is Linux's" unless File.exist?("/proc/net/tcp")

    TCPServer.open("127.0.0.1", 0) do |server|
      holder = NeverBlock::Server::PortHolder.new.describe(server.local_address.ip_port)
      assert_match(/\Aprocess #{Process.pid} \(.*ruby.*\) listens there\z/, holder)
    end
    assert_nil NeverBlock::Server::PortHolder.new.describe(1)
    Dir.mktmpdir do |empty|
      assert_nil NeverBlock::Server::PortHolder.new(proc_root: empty).describe(80)
    end
  end

  private

  def listening(engine, admin: false, names: nil, tls: nil)
    addresses = NeverBlock::Server::Addresses.new(names ? Names.new(names) : Addrinfo)
    NeverBlock::Server::Listening.new(
      engine, 5, admin: admin, port_holder: Holder.new(nil), addresses: addresses, tls: tls
    )
  end

  def binds(*urls)
    urls.map { |url| NeverBlock::Config::Bind.parse(url) }
  end
end
