# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config"

class SecureTest < Minitest::Test
  Secure = NeverBlock::Config::Secure

  def test_without_settings_all_is_the_librarys_default
    secure = Secure.new
    assert_empty secure.identities
    assert_equal [0x0303, nil, nil, nil, nil, nil, 0, nil, true],
                 secure.context_arguments(:none, nil)
  end

  def test_certificates_have_their_keys_in_their_order
    secure = Secure.new(cert: %w[/a.pem b.pem], key: %w[/a.key b.key], passphrase_env: "SECRET")
    assert_equal [
      ["/a.pem", "/a.key", [:env, "SECRET"]],
      [File.expand_path("b.pem"), File.expand_path("b.key"), [:env, "SECRET"]]
    ], secure.identities.map(&:to_a)
  end

  def test_without_keys_they_are_in_the_files_of_the_certificates
    secure = Secure.new(cert: %w[/a.pem], passphrase_command: "cat x")
    assert_equal [["/a.pem", "/a.pem", [:command, "cat x"]]], secure.identities.map(&:to_a)
  end

  def test_what_clients_may_use_is_passed_on
    secure = Secure.new(min_version: :"1.3", ciphers: "A", suites: "B", curves: "C", ktls: false)
    assert_equal [0x0304, nil, "A", "B", "C", nil, 0, nil, false],
                 secure.context_arguments(:none, nil)
  end

  WRONG = {
    { cert: %w[/a /b], key: %w[/a] } =>
      "tls: there are 2 cert and 1 key; write a key for each cert, in their order",
    { key: %w[/a] } => "tls: there are 0 cert and 1 key; write a key for each cert, in their order",
    { passphrase_env: "A", passphrase_command: "b" } =>
      "tls: passphrase_env and passphrase_command are both set; keep one"
  }.freeze

  WRONG.each do |settings, message|
    define_method("test_#{settings} is refused") do
      error = assert_raises(NeverBlock::ConfigError) { Secure.new(**settings) }
      assert_equal message, error.message
    end
  end

  def test_clients_are_verified_by_the_certificates_of_a_file
    secure = Secure.new(verify: :required, ca: "ca.pem")
    assert_equal [:required, File.expand_path("ca.pem")], secure.clients_of(bind(""))
    assert_equal [2, "PEM"], secure.context_arguments(:required, "PEM")[6, 2]
    assert_equal [1, ""], secure.context_arguments(:optional, "")[6, 2]
  end

  # Settings of all, parameters of an address => what it asks of its clients.
  CLIENTS = {
    [{}, ""] => [:none, nil],
    [{}, "verify=none"] => [:none, nil],
    [{}, "verify=required&ca=/b"] => [:required, "/b"],
    [{ verify: :required, ca: "/a" }, "verify=none"] => [:none, nil],
    [{ verify: :required, ca: "/a" }, "verify=optional"] => [:optional, "/a"],
    [{ verify: :optional, ca: "/a" }, "ca=/b"] => [:optional, "/b"],
    [{ verify: :optional, ca: "/a" }, "verify=required&ca=/b"] => [:required, "/b"]
  }.freeze

  CLIENTS.each do |(words, query), found|
    define_method("test_#{words} and #{query.inspect} are #{found}") do
      assert_equal found, Secure.new(**words).clients_of(bind(query))
    end
  end

  def test_an_address_that_lacks_one_of_the_two_is_refused_with_the_configuration
    { "verify=required" => "verify needs ca=FILE beside it: the certificates that those of " \
                           "clients are verified by",
      "ca=/b" => "ca needs verify=required or verify=optional beside it" }.each do |query, words|
      error = assert_raises(NeverBlock::ConfigError) do
        NeverBlock::Config.new(binds: ["http://127.0.0.1:80", bind(query)])
      end
      assert_equal "cannot bind to https://127.0.0.1:443: #{words}", error.message
    end
  end

  def test_verify_and_ca_go_together
    [{ verify: :required }, { verify: :optional }, { ca: "ca.pem" }].each do |words|
      error = assert_raises(NeverBlock::ConfigError) { Secure.new(**words) }
      assert_match(/verify :optional or :required needs ca/, error.message)
    end
  end

  private

  def bind(query)
    NeverBlock::Config::Bind.parse("https://127.0.0.1:443?#{query}")
  end
end
