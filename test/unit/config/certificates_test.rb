# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config"

class CertificatesTest < Minitest::Test
  Bind = NeverBlock::Config::Bind

  # What follows the question mark => [certificate, key, passphrase] of each.
  READ = {
    "" => [],
    "cert=/a.pem&key=/a.key" => [["/a.pem", "/a.key", nil]],
    "cert=/both.pem" => [["/both.pem", "/both.pem", nil]],
    "cert=/a.pem&cert=/b.pem&key=/b.key" => [["/a.pem", "/a.pem", nil], ["/b.pem", "/b.key", nil]],
    "cert=/a&key=/k&passphrase_env=SECRET" => [["/a", "/k", [:env, "SECRET"]]],
    "cert=/a&passphrase_command=cat%20/run/secret%20%26%26%20true" =>
      [["/a", "/a", [:command, "cat /run/secret && true"]]],
    "cert=/a&passphrase_env=ONE&key=/k" => [["/a", "/k", [:env, "ONE"]]],
    "cert=/a%20b+c%2525.pem" => [["/a b+c%25.pem", "/a b+c%25.pem", nil]],
    "cert=/caf\u00e9/caf%C3%A9=x" => [["/caf\u00e9/caf\u00e9=x"] * 2 + [nil]],
    "cert=/a%zz" => [["/a%zz", "/a%zz", nil]]
  }.freeze

  READ.each do |query, found|
    define_method("test_#{query.inspect} is read") do
      assert_equal found, identities(query).map(&:to_a)
    end
  end

  # What follows the question mark => what is asked of clients, and the file of authorities.
  CLIENTS = {
    "cert=/a" => [nil, nil],
    "verify=required&ca=/ca.pem" => [:required, "/ca.pem"],
    "cert=/a&ca=/c%20a.pem&key=/k&verify=optional" => [:optional, "/c a.pem"],
    "verify=none" => [:none, nil],
    "ca=/ca.pem" => [nil, "/ca.pem"],
    "verify=optional" => [:optional, nil]
  }.freeze

  CLIENTS.each do |query, found|
    define_method("test_what #{query.inspect} asks of clients is read") do
      assert_equal found, [bind(query).verify, bind(query).authorities]
    end
  end

  def test_paths_are_absolute_from_where_the_server_was_started
    files = identities("cert=tls/a.pem&key=../a.key").first
    assert_equal [File.expand_path("tls/a.pem"), File.expand_path("../a.key")],
                 [files.cert, files.key]
    assert_equal File.join(Dir.home, "a.pem"), identities("cert=~/a.pem").first.cert
  end

  def test_bytes_that_are_not_utf8_stay_as_they_are
    path = identities("cert=/caf%E9%C3\u00e9").first.cert
    assert_equal "/caf\xE9\xC3\u00e9".b, path.b
    refute_predicate path, :valid_encoding?
  end

  WRONG = {
    "crt=/a" => "unknown parameter \"crt\"; an https address takes cert, key, passphrase_env, " \
                "passphrase_command, verify, ca",
    "cert=/a&" * 2 + "&key=/b" => "unknown parameter \"\"",
    "Cert=/a" => "unknown parameter \"Cert\"",
    "cert" => "cert is empty; write cert=FILE",
    "cert=/a&key=" => "key is empty; write key=FILE",
    "cert=/a&passphrase_env=" => "passphrase_env is empty; write passphrase_env=NAME",
    "cert=/a&passphrase_command" => "passphrase_command is empty; write passphrase_command=COMMAND",
    "cert=/a%00b" => "cert has a NUL byte",
    "key=/a" => "key stands before its certificate; begin with cert=FILE",
    "passphrase_env=A&cert=/a" => "passphrase_env stands before its certificate",
    "cert=/a&key=/b&key=/c" => "a certificate has one key; begin the next with cert=FILE",
    "cert=/a&passphrase_env=A&passphrase_command=b" =>
      "a key has one passphrase; remove passphrase_command",
    "verify=always&ca=/a" => "verify must be none, optional or required; got \"always\"",
    "verify=Required&ca=/a" => "verify must be none, optional or required; got \"Required\"",
    "verify=&ca=/a" => "verify is empty; write verify=WORD",
    "verify=required&ca=" => "ca is empty; write ca=FILE",
    "verify=none&ca=/a" => "ca is for verify=required or verify=optional; remove it, or ",
    "ca=/a&verify=required&ca=/b" => "an address has one ca; remove the others",
    "verify=none&verify=none" => "an address has one verify; remove the others",
    "verify=required&ca=~no-such-user/a" => "the path \"~no-such-user/a\" has no meaning here: ",
    "cert=~no-such-user/a" => "the path \"~no-such-user/a\" has no meaning here: "
  }.freeze

  WRONG.each do |query, words|
    define_method("test_#{query.inspect} is refused with the mend") do
      error = assert_raises(NeverBlock::ConfigError) { identities(query) }
      assert_match(/\Acannot bind to "https:.*": /, error.message)
      assert_includes error.message, words
      refute_includes error.message, "\n"
    end
  end

  def test_the_files_cannot_be_changed_and_are_part_of_what_makes_addresses_equal
    assert_predicate identities("cert=/a").first, :frozen?
    assert_equal bind("cert=/a"), bind("cert=/a&key=/a")
    refute_equal bind("cert=/a"), bind("cert=/b")
    refute_equal bind("cert=/a"), bind("cert=/a&verify=none")
    refute_equal bind("verify=required&ca=/a"), bind("verify=required&ca=/b")
    assert_equal "https://127.0.0.1:443", bind("cert=/a").url, "without the paths"
  end

  private

  def bind(query)
    Bind.parse("https://127.0.0.1:443?#{query}")
  end

  def identities(query)
    bind(query).identities
  end
end
