# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/certificates"
require "neverblock/tls/development"

class DevelopmentTest < Minitest::Test
  Development = NeverBlock::TLS::Development

  NO_GEM = -> { raise LoadError, "cannot load such file -- localhost" }

  # Host of the address => the certificate's common name, and its names and addresses.
  SELF_SIGNED = {
    "localhost" => %w[localhost DNS:localhost 127.0.0.1 ::1],
    "127.0.0.1" => %w[localhost DNS:localhost 127.0.0.1 ::1],
    "::1" => %w[localhost DNS:localhost 127.0.0.1 ::1],
    "0.0.0.0" => %w[localhost DNS:localhost 127.0.0.1 ::1],
    "::" => %w[localhost DNS:localhost 127.0.0.1 ::1],
    "app.test" => %w[app.test DNS:app.test 127.0.0.1 ::1],
    "face" => %w[face DNS:face 127.0.0.1 ::1], # a name of hexadecimal digits
    "192.0.2.7" => %w[localhost DNS:localhost 127.0.0.1 ::1 192.0.2.7],
    "fe80::1%eth0" => %w[localhost DNS:localhost 127.0.0.1 ::1 fe80::1]
  }.freeze

  SELF_SIGNED.each do |host, (common_name, *names)|
    define_method("test_for #{host} it signs itself where the gem is not there") do
      certificate = certificate(identity(host))
      assert_equal [["CN", common_name]], (certificate.subject.to_a.map { |one| one.first(2) })
      assert_equal names, alternatives(certificate)
      assert certificate.verify(certificate.public_key)
    end
  end

  def test_it_is_good_for_some_weeks_and_its_key_is_its_own
    made = identity("localhost")
    assert_operator made.not_before, :<, Time.now
    assert_includes 20..31, (made.not_after - Time.now) / 86_400
    assert certificate(made).check_private_key(OpenSSL::PKey.read(made.key))
    refute_equal made.key, identity("localhost").key
    assert_nil made.warning
  end

  def test_the_log_says_what_it_is
    assert_equal "https://localhost has a certificate of its own making, for development: " \
                 "browsers warn; the gem localhost makes one that a machine can trust, " \
                 "cert=F&key=F name real ones", line("localhost")
    assert_match(%r{\Ahttps://\[::1\] has}, line("::1"))
  end

  # --- with the gem

  # The gem, as far as it is used.
  class Gem
    attr_reader :asked

    def initialize(failure: nil)
      @failure = failure
      @asked = []
    end

    def fetch(name)
      @asked << name
      raise @failure if @failure

      Certificates.new.issue(name)
    end

    # Defines what `require "localhost"` would.
    def while_loaded
      Object.const_set(:Localhost, Module.new)
      ::Localhost.const_set(:Authority, self)
      yield
    ensure
      Object.send(:remove_const, :Localhost)
    end
  end

  def test_the_gems_authority_signs_for_names_and_for_this_machine
    hosts = %w[localhost 127.0.0.1 ::1 0.0.0.0 :: app.test]
    gem = Gem.new
    gem.while_loaded do
      hosts.each do |host|
        made, line = Development.identity(host, load: -> {})
        assert_equal [["CN", "test authority"]],
                     (certificate(made).issuer.to_a.map { |one| one.first(2) })
        assert_includes line, "has a certificate of the gem localhost; `bake localhost:install`"
      end
    end
    assert_equal ["localhost"] * 5 + ["app.test"], gem.asked
  end

  def test_the_gem_is_not_asked_for_another_address_since_it_signs_for_names
    gem = Gem.new
    gem.while_loaded do
      made, = Development.identity("192.0.2.7", load: -> {})
      assert_includes alternatives(certificate(made)), "192.0.2.7"
    end
    assert_empty gem.asked
  end

  [Errno::EROFS.new, ArgumentError.new("couldn't find HOME")].each do |failure|
    define_method("test_where_the_gem_cannot_keep_its_files_it_signs_itself_#{failure.class}") do
      Gem.new(failure: failure).while_loaded do
        _, line = Development.identity("localhost", load: -> {})
        assert_includes line, "of its own making"
      end
    end
  end

  # What is in the files => the message.
  BROKEN = { { "localhost.crt" => "", "localhost.key" => Certificates.key(:rsa).to_pem } => "crt",
             { "localhost.crt" => Certificates.new.issue("a").pem, "localhost.key" => "x" } =>
               "key" }.freeze

  def test_a_broken_file_of_the_gem_is_named_with_the_mend
    BROKEN.each do |files, kind|
      Certificates.in_folder do |folder|
        files.each { |name, text| File.write(File.join(folder, name), text) }
        gem = Gem.new(failure: OpenSSL::X509::CertificateError.new("nested asn1 error"))
        gem.define_singleton_method(:path) { folder }
        error = gem.while_loaded do
          assert_raises(NeverBlock::TLS::Unusable) do
            Development.identity("localhost", load: -> {})
          end
        end
        assert_equal "#{folder}/localhost.#{kind} of the gem localhost is broken (nested asn1 " \
                     "error): remove it, and the gem makes another", error.message
      end
    end
  end

  def test_files_of_a_gem_that_does_not_tell_its_folder_are_told
    Gem.new(failure: OpenSSL::PKey::PKeyError.new("no key")).while_loaded do
      error = assert_raises(NeverBlock::TLS::Unusable) do
        Development.identity("localhost", load: -> {})
      end
      assert_equal "a file of the gem localhost is broken (no key): remove it, and the gem makes " \
                   "another", error.message
    end
  end

  private

  def identity(host)
    Development.identity(host, load: NO_GEM).first
  end

  def line(host)
    Development.identity(host, load: NO_GEM).last
  end

  def certificate(identity)
    OpenSSL::X509::Certificate.new(identity.chain)
  end

  # Names as DNS:NAME, addresses in their short form.
  def alternatives(certificate)
    extension = certificate.extensions.find { |one| one.oid == "subjectAltName" }
    extension.value.split(", ").map do |one|
      kind, value = one.split(":", 2)
      kind == "DNS" ? one : IPAddr.new(value).to_s
    end
  end
end
