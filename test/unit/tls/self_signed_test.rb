# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/tls/self_signed"

class SelfSignedTest < Minitest::Test
  def test_it_is_for_its_names_and_addresses_and_valid_for_its_days
    long = "#{"a" * 60}.example.test"
    one = NeverBlock::TLS::SelfSigned.identity([long, "b.test"], days: 3, addresses: ["::1"])
    made = OpenSSL::X509::Certificate.new(one.chain)
    assert made.verify(made.public_key)
    assert made.check_private_key(OpenSSL::PKey.read(one.key))
    assert_equal [long, "b.test"], one.names
    assert_match(/IP Address:0:0:0:0:0:0:0:1/, made.extensions.map(&:value).join)
    assert_equal 3 * 86_400, made.not_after - made.not_before
    assert_operator made.not_before, :<, Time.now
    refute_equal made.serial, OpenSSL::X509::Certificate.new(
      NeverBlock::TLS::SelfSigned.identity(["b.test"], days: 3).chain
    ).serial
  end
end
