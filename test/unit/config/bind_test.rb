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
    "http://127.0.0.1:80?x=1" => "remove what follows it",
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
