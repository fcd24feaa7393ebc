# frozen_string_literal: true

# A certificate that has signed itself: for development, for an address whose first certificate is
# still to be issued, and for the challenge TLS-ALPN-01.

require "neverblock/tls/identity"

module NeverBlock
  module TLS
    class SelfSigned
      # Clocks of clients may be behind.
      EARLIER_S = 3_600
      DAY_S = 86_400
      private_constant :EARLIER_S, :DAY_S

      # @param names [Array<String>] host names, the first of which is the common name
      # @param days [Integer] for which it is valid
      # @param addresses [Array<String>] IP addresses
      # @param extensions [Array<OpenSSL::X509::Extension>] further ones
      # @return [Identity] with an EC key
      # @raise [Unusable] this Ruby has no openssl
      def self.identity(names, days:, addresses: [], extensions: [])
        Identity.require_openssl
        key = OpenSSL::PKey::EC.generate("prime256v1")
        made = unsigned(names.first, days, key)
        factory = OpenSSL::X509::ExtensionFactory.new(made, made)
        alternatives = names.map { |name| "DNS:#{name}" } + addresses.map { |one| "IP:#{one}" }
        made.add_extension(factory.create_extension("subjectAltName", alternatives.join(",")))
        made.add_extension(factory.create_extension("basicConstraints", "CA:FALSE", true))
        extensions.each { |extension| made.add_extension(extension) }
        Identity.new([made.sign(key, OpenSSL::Digest.new("SHA256"))], key)
      end

      def self.unsigned(name, days, key)
        OpenSSL::X509::Certificate.new.tap do |made|
          made.version = 2
          made.serial = OpenSSL::BN.rand(64)
          made.subject = made.issuer = OpenSSL::X509::Name.new([["CN", name[0, 64]]])
          made.public_key = key
          made.not_before = Time.now - EARLIER_S
          made.not_after = made.not_before + (days * DAY_S)
        end
      end
      private_class_method :unsigned
    end
  end
end
