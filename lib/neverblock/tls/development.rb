# frozen_string_literal: true

# The certificate of an https address that names none: for development. Where the gem localhost is
# there, its authority signs it, which a machine can be told to trust. Else it is self-signed, lives
# in memory, and every client has to be told to accept it.

require "neverblock/tls/identity"

module NeverBlock
  module TLS
    module Development
      DAYS = 30
      private_constant :DAYS

      class << self
        # @param host [String] a name or an address
        # @return [Array(Identity, String)] with a log line that says what it is
        # @raise [Unusable]
        def identity(host)
          Identity.require_openssl
          by_localhost_gem(host) || self_signed(host)
        end

        private

        def by_localhost_gem(host)
          require "localhost"
          authority = ::Localhost::Authority.fetch(name_for(host))
          certificate = authority.certificate
          trust = "`bake localhost:install` has this machine trust it"
          [Identity.new(certificate, certificate.to_pem, authority.key.private_to_pem),
           "https://#{host} has a certificate of the gem localhost; #{trust}"]
        rescue LoadError
          nil
        end

        def self_signed(host)
          key = OpenSSL::PKey::EC.generate("prime256v1")
          certificate = certificate_for(name_for(host), host, key)
          [Identity.new(certificate, certificate.to_pem, key.private_to_pem),
           "https://#{host} has a certificate of its own making, for development: browsers warn; " \
           "the gem localhost makes one that a machine can trust, cert=F&key=F name real ones"]
        end

        # A wildcard address has no name.
        def name_for(host)
          %w[0.0.0.0 :: 127.0.0.1 ::1].include?(host) ? "localhost" : host
        end

        def certificate_for(name, host, key)
          OpenSSL::X509::Certificate.new.tap do |made|
            made.version = 2
            made.serial = OpenSSL::BN.rand(64)
            made.subject = made.issuer = OpenSSL::X509::Name.new([["CN", name]])
            made.public_key = key
            made.not_before = Time.now - 3_600
            made.not_after = made.not_before + (DAYS * 86_400)
            extend_with(made, name, host)
            made.sign(key, OpenSSL::Digest.new("SHA256"))
          end
        end

        def extend_with(made, name, host)
          factory = OpenSSL::X509::ExtensionFactory.new(made, made)
          addresses = ["IP:127.0.0.1", "IP:::1", ("IP:#{host}" if host.match?(/\A[\h:.]+\z/))]
          names = ["DNS:#{name}", *addresses.compact.uniq].join(",")
          made.add_extension(factory.create_extension("subjectAltName", names))
          made.add_extension(factory.create_extension("basicConstraints", "CA:FALSE", true))
        end
      end
    end
  end
end
