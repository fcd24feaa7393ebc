# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/config_text"
require "neverblock/config"

class ConfigAcmeTest < Minitest::Test
  include ConfigText

  Acme = NeverBlock::Config::Acme
  ConfigError = NeverBlock::ConfigError

  def acme(*names, **words)
    Acme.new(names, env: { "HOME" => "/home/me" }, **words)
  end

  def test_lets_encrypt_and_the_users_state_folder_are_the_default
    one = acme("Example.org.", "www.example.org")
    assert_equal %w[example.org www.example.org], one.names
    assert_equal "https://acme-v02.api.letsencrypt.org/directory", one.directory
    folder = "/home/me/.local/state/neverblock/acme/acme-v02.api.letsencrypt.org-directory"
    assert_equal folder, one.folder
    assert_equal ["#{folder}/example.org.pem"] * 2, one.files.to_a.first(2)
    assert_equal :both, one.challenge
    assert_nil one.email
    assert_nil one.ca
  end

  def test_each_word_has_its_effect
    one = acme("a.test", email: "me@a.test", directory: "https://ca.test:9000/acme/one/directory",
                         folder: "kept", ca: "ca.pem", challenge: :tls_alpn_01)
    assert_equal ["me@a.test", File.expand_path("ca.pem"), :tls_alpn_01],
                 [one.email, one.ca, one.challenge]
    assert_equal File.expand_path("kept/ca.test-9000-acme-one-directory"), one.folder
    assert_match(/staging/, acme("a.test", directory: :staging).directory)
  end

  def test_a_service_has_its_folder_and_the_user_may_move_his
    { { "STATE_DIRECTORY" => "/var/lib/app:/var/lib/b", "HOME" => "/root" } => "/var/lib/app/acme",
      { "XDG_STATE_HOME" => "/s", "HOME" => "/root" } => "/s/neverblock/acme",
      { "STATE_DIRECTORY" => "", "HOME" => "/root" } => "/root/.local/state/neverblock/acme",
      {} => nil }.each { |env, path|
      path.nil? ? assert_nil(Acme.default_folder(env)) : assert_equal(
        path, Acme.default_folder(env)
      )
    }
    error = assert_raises(ConfigError) { Acme.new(%w[a.test], env: {}) }
    assert_match(/there is no home folder to keep certificates in; name one: folder:/,
                 error.message)
  end

  WRONG = {
    [[], {}] => /acme: takes host names, such as acme "example\.org"/,
    [[:a], {}] => /acme: takes host names; got :a/,
    [["*.a.test"],
     {}] => /"\*\.a\.test": a wildcard needs the challenge DNS-01, which is not supported/,
    [["192.0.2.1"], {}] => /"192\.0\.2\.1": it is an address/,
    [["::1"], {}] => /"::1": it is an address/,
    [["a_b.test"], {}] => /"a_b\.test": it is not a host name/,
    [["../etc"], {}] => /it is not a host name/,
    [["#{"a" * 64}.test"], {}] => /it is not a host name/,
    [["a.test", "A.test"], {}] => /"a\.test" is given twice/,
    [Array.new(101) { |n|
      "h#{n}.test"
    }, {}] => /at most 100 names; got 101: write several acme lines/,
    [["a.test"], { email: "me" }] => /acme email: must be an email address/,
    [["a.test"], { directory: "http://a" }] =>
      %r{acme directory: must be production or staging, or an https:// URL; got "http://a"},
    [["a.test"],
     { challenge: :dns_01 }] => /acme challenge: must be both, http_01 or tls_alpn_01; got :dns_01/,
    [["a.test"], { folder: "" }] => /acme folder: must be a path/,
    [["a.test"], { emial: "a@b" }] => /unknown word emial; did you mean email\?/,
    [["a.test"],
     { zzzzzz: 1 }] => /unknown word zzzzzz; it takes email, directory, folder, ca, challenge/
  }.freeze

  def test_what_is_wrong_is_told_with_what_is_allowed
    WRONG.each do |(names, words), message|
      error = assert_raises(ConfigError, message.inspect) { acme(*names, **words) }
      assert_match(message, error.message)
    end
  end

  def test_the_file_may_have_several_certificates
    values = read('tls { acme "a.test", "b.test", email: "me@a.test"; acme "c.test" }')
    assert_equal [%w[a.test b.test], %w[c.test]], values.fetch(:"tls.acme").map(&:names)
    error = assert_raises(ConfigError) {
      read("tls {\n acme 'a.test'\n acme 'b.test', 'A.test'\n}")
    }
    assert_match(/neverblock\.rb:3: tls acme: "a\.test" is given twice/, error.message)
    error = assert_raises(ConfigError) { read("tls { acme 'a.test', 7 }") }
    assert_match(/neverblock\.rb:1: tls acme: takes host names; got 7/, error.message)
  end
end
