# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config"

class BindTest < Minitest::Test
  Bind = NeverBlock::Config::Bind

  GOOD = {
    "http://127.0.0.1:9292" => [:http, "127.0.0.1", 9292, "http://127.0.0.1:9292"],
    "http://127.0.0.1:9292/" => [:http, "127.0.0.1", 9292, "http://127.0.0.1:9292"],
    "http://0.0.0.0:0" => [:http, "0.0.0.0", 0, "http://0.0.0.0:0"],
    "http://localhost:80" => [:http, "localhost", 80, "http://localhost:80"],
    "http://app-1.example.org:65535" => [
      :http, "app-1.example.org", 65_535, "http://app-1.example.org:65535"
    ],
    "http://[::1]:9292" => [:http, "::1", 9292, "http://[::1]:9292"],
    "http://[::]:1" => [:http, "::", 1, "http://[::]:1"],
    "http://[fe80::1%eth0]:1" => [:http, "fe80::1%eth0", 1, "http://[fe80::1%eth0]:1"],
    "http://[::ffff:10.0.0.1]:1" => [:http, "::ffff:10.0.0.1", 1, "http://[::ffff:10.0.0.1]:1"],
    "https://app.test:443" => [:https, "app.test", 443, "https://app.test:443"],
    "https://[::1]:443?cert=F&key=/k" => [:https, "::1", 443, "https://[::1]:443"]
  }.freeze

  GOOD.each do |text, (scheme, host, port, url)|
    define_method("test_#{text} is read as #{host} and #{port}") do
      bind = Bind.parse(text)
      assert_equal [scheme, host, port, url], [bind.scheme, bind.host, bind.port, bind.url]
    end
  end

  UNIX = {
    "unix:///run/app.sock" => ["/run/app.sock", 0],
    "unix:///run/app.sock?mode=0660" => ["/run/app.sock", 0o660],
    "unix:///run/app.sock?mode=777" => ["/run/app.sock", 0o777],
    "unix:///run/a%20b.sock?mode=0600" => ["/run/a b.sock", 0o600],
    "unix:///run/caf\u00e9-caf%C3%A9" => ["/run/caf\u00e9-caf\u00e9", 0],
    "unix:///#{"x" * (Bind::PATH_BYTES_MAX - 1)}" => ["/#{"x" * (Bind::PATH_BYTES_MAX - 1)}", 0]
  }.freeze

  UNIX.each do |text, (path, mode)|
    define_method("test_#{text} is read as a path with mode #{mode.to_s(8)}") do
      bind = Bind.parse(text)
      assert_predicate bind, :unix?
      assert_equal [path, mode, "unix://#{path}"], [bind.path, bind.mode, bind.url]
    end
  end

  PROXIED = {
    "http://127.0.0.1:80" => false,
    "http://127.0.0.1:80?proxy_protocol=on" => true,
    "http://127.0.0.1:80?proxy_protocol=off" => false,
    "https://a.test:443?proxy_protocol=on" => true,
    "https://a.test:443?cert=F&proxy_protocol=on&key=K" => true,
    "unix:///run/app.sock?proxy_protocol=on&mode=0600" => true
  }.freeze

  def test_an_address_says_whether_its_connections_begin_with_a_proxy_header
    PROXIED.each do |text, proxied|
      assert_equal proxied, Bind.parse(text).proxied, text
    end
    files = Bind.parse("https://a.test:443?cert=F&proxy_protocol=on&key=K").identities
    names = files.map { |one| [File.basename(one.cert), File.basename(one.key)] }
    assert_equal [%w[F K]], names
    assert_equal 0o600, Bind.parse("unix:///run/a?proxy_protocol=on&mode=0600").mode
    refute_equal Bind.parse("unix:///run/a?proxy_protocol=on"), Bind.parse("unix:///run/a")
  end

  # What was given, and what the complaint must say beside it.
  WRONG = {
    "" => "an address must be http://HOST:PORT",
    "foo" => "an address must be http://HOST:PORT",
    "9292" => "http://127.0.0.1:9292",
    ":9292" => "http://0.0.0.0:9292",
    "127.0.0.1:9292" => "write http://127.0.0.1:9292",
    "[::1]:9292" => "write http://[::1]:9292",
    "/run/app.sock" => "write unix:///run/app.sock",
    "unix:/run/app.sock" => "unix:///run/app.sock",
    "unix://run/app.sock" => "three slashes: unix:///run/app.sock; for a file of this folder " \
                             "unix://#{Dir.pwd}/run/app.sock",
    "unix:///run/" => "names a directory",
    "unix:///#{"x" * Bind::PATH_BYTES_MAX}" => "bytes, the system allows",
    "unix:///run/a.sock?mode=0888" => "octal",
    "unix:///run/a.sock?owner=me" => "a UNIX socket takes mode and proxy_protocol",
    "http://a.test:1?proxy_protocol=v1" => "proxy_protocol must be on or off; got \"v1\"",
    "http://a.test:1?mode=0600" => "an http address takes proxy_protocol",
    "unix:///run/a.sock?mode=" => "octal",
    "unix:///run/a.sock?mode=0000" => "octal",
    "unix:///run/a.sock?umask=7" => "unknown parameter \"umask\"",
    "unix:///run/a%00.sock" => "NUL",
    "http://" => "the host is missing",
    "http://:80" => "the host is missing",
    "http://127.0.0.1" => "the port is missing: http://127.0.0.1:9292",
    "http://127.0.0.1:" => "the port is missing",
    "http://[::1]" => "the port is missing: http://[::1]:9292",
    "http://::1:9292" => "brackets",
    "http://*:80" => "0.0.0.0",
    "http://127.0.0.1:65536" => "from 0 to 65535",
    "http://127.0.0.1:-1" => "from 0 to 65535",
    "http://127.0.0.1:http" => "from 0 to 65535",
    "http://127.0.0.1:0x50" => "from 0 to 65535",
    "http://127.0.0.1:80/app" => "remove what follows it",
    "http://127.0.0.1:80?x=1" => "unknown parameter \"x\"",
    "http://user@127.0.0.1:80" => "an address must be",
    "http://a b:80" => "characters that a host name cannot have",
    "tcp://127.0.0.1:80" => "write http://",
    "gopher://127.0.0.1:80" => "gopher",
    "http://127.0.0.1:80?cert=F&key=F" => "write https://",
    "https://127.0.0.1:443/app?cert=F" => "a path has no meaning here",
    "https://127.0.0.1?cert=F" => "the port is missing: https://127.0.0.1:9292",
    "https://:443?cert=F" => "the host is missing",
    "https://127.0.0.1:443?key=F" => "key stands before its certificate"
  }.freeze

  WRONG.each do |text, words|
    define_method("test_#{text.inspect} is refused with the mend") do
      error = assert_raises(NeverBlock::ConfigError) { Bind.parse(text) }
      assert_includes error.message, words
      assert_includes error.message, text
      refute_includes error.message, "\n"
    end
  end

  def test_an_address_of_admin_pages_takes_no_proxy_header
    error = assert_raises(NeverBlock::ConfigError) do
      Bind.parse_plain("http://127.0.0.1:1?proxy_protocol=on")
    end
    assert_includes error.message, "the admin pages have no PROXY protocol"
  end

  def test_an_address_of_admin_pages_is_not_https
    assert_equal "http://[::1]:1", Bind.parse_plain("http://[::1]:1").url
    error = assert_raises(NeverBlock::ConfigError) { Bind.parse_plain("https://[::1]:1", "ask") }
    assert_equal "cannot ask \"https://[::1]:1\": the admin pages have no TLS; an address of " \
                 "theirs must be http://HOST:PORT, http://[IPV6]:PORT or unix:///PATH?mode=0660",
                 error.message
  end

  def test_the_url_of_a_bind_takes_the_address_and_port_it_became
    assert_equal "http://[::1]:40123", Bind.parse("http://localhost:0").url("::1", 40_123)
  end
end
