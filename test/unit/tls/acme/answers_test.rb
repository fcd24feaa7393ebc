# frozen_string_literal: true

require_relative "../../../support/unit"
require "neverblock/tls/acme"
require "openssl"

class AcmeAnswersTest < Minitest::Test
  Answers = NeverBlock::TLS::Acme::Answers
  Challenge = Struct.new(:token, :key_authorization)

  # Notes what it is told.
  Told = Struct.new(:challenges)

  def setup
    @engine = Told.new
    @listeners = Told.new
    @answers = Answers.new(@engine, @listeners)
    @challenges = { "a.test" => Challenge.new("t1", "t1.x"),
"b.test" => Challenge.new("t2", "t2.x") }
  end

  def test_http_01_is_answered_while_it_is_asked_for
    result = @answers.while_asked(:http_01, @challenges) do
      assert_equal [%w[t1 t1.x], %w[t2 t2.x]], @engine.challenges
      assert_nil @listeners.challenges
      :done
    end
    assert_equal :done, result
    assert_empty @engine.challenges
  end

  def test_an_error_ends_the_answers
    assert_raises(IOError) { @answers.while_asked(:http_01, @challenges) { raise IOError } }
    assert_empty @engine.challenges
  end

  def test_tls_alpn_01_is_answered_by_certificates
    @answers.while_asked(:tls_alpn_01, @challenges) do
      assert_equal %w[a.test b.test], @listeners.challenges.keys
      assert_equal [%w[a.test], %w[b.test]], @listeners.challenges.values.map(&:names)
    end
    assert_empty @listeners.challenges
    assert_nil @engine.challenges
  end

  # RFC 8737 section 3: one name, and the digest of the key authorization, critical.
  def test_a_certificate_has_the_digest_of_the_authorization
    made = OpenSSL::X509::Certificate.new(Answers.certificate("a.test", "t1.x").chain)
    extension = made.extensions.find { |one|
      %w[1.3.6.1.5.5.7.1.31 acmeIdentifier].include?(one.oid)
    }
    assert_predicate extension, :critical?
    assert_equal OpenSSL::ASN1::OctetString.new(Digest::SHA256.digest("t1.x")).to_der,
                 extension.value_der
    assert_equal "DNS:a.test", made.extensions.find { |one| one.oid == "subjectAltName" }.value
  end
end
