# frozen_string_literal: true

require_relative "../../../support/unit"
require_relative "../../../support/certificates"
require "neverblock/config"
require "neverblock/tls/acme"

class AcmeKeptTest < Minitest::Test
  Kept = NeverBlock::TLS::Acme::Kept
  AUTHORITY = Certificates.new

  def setup
    @folder = Dir.mktmpdir("acme-kept")
    @order = NeverBlock::Config::Acme.new(%w[a.test b.test], folder: @folder)
    FileUtils.mkdir_p(@order.folder)
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  def keep(*names, **rest)
    issued = AUTHORITY.issue(*names, **rest)
    File.write(@order.files.cert, issued.key_pem + issued.pem)
    issued
  end

  def test_it_is_renewed_when_a_third_of_its_lifetime_is_left
    keep("a.test", "b.test", from: Time.utc(2030, 1, 1), till: Time.utc(2030, 3, 32 - 1))
    kept = Kept.of(@order)
    assert_equal Time.utc(2030, 3, 31), kept.not_after
    assert_in_delta Time.utc(2030, 3, 31) - (89 * 86_400 / 3.0), kept.renew_at, 1
  end

  def test_more_names_than_wanted_are_fine_and_fewer_are_due
    keep("a.test", "b.test", "c.test")
    assert_operator Kept.of(@order).renew_at, :>, Time.now
    keep("a.test")
    assert_operator Kept.of(@order).renew_at, :<, Time.now
  end

  def test_nothing_or_what_is_broken_is_none
    assert_nil Kept.of(@order)
    File.write(@order.files.cert, "oops")
    assert_nil Kept.of(@order)
    File.write(@order.files.cert, AUTHORITY.issue("a.test").pem)
    assert_nil Kept.of(@order), "without a key"
  end

  def test_its_certificate_is_the_servers
    issued = keep("a.test", intermediate: true)
    assert_equal issued.certificate.serial, Kept.of(@order).certificate.serial
  end
end
