# frozen_string_literal: true

# A certificate for 127.0.0.1 and localhost that signs itself, made when first asked for.

require "openssl"

module HookServices
  module Certificate
    LOCK = Mutex.new

    class << self
      # @return [OpenSSL::SSL::SSLContext] of a server
      def server_context
        key, certificate = pair
        OpenSSL::SSL::SSLContext.new.tap do |context|
          context.key = key
          context.cert = certificate
        end
      end

      # @return [OpenSSL::SSL::SSLContext] of a client that trusts this certificate alone
      def client_context
        OpenSSL::SSL::SSLContext.new.tap do |context|
          context.cert_store = store
          context.verify_mode = OpenSSL::SSL::VERIFY_PEER
        end
      end

      # @return [OpenSSL::X509::Store] with this certificate
      def store
        OpenSSL::X509::Store.new.tap { |store| store.add_cert(pair[1]) }
      end

      private

      def pair
        LOCK.synchronize { @pair ||= generate }
      end

      def generate
        key = OpenSSL::PKey::EC.generate("prime256v1")
        certificate = OpenSSL::X509::Certificate.new
        certificate.version = 2
        certificate.serial = 1
        certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=localhost")
        certificate.public_key = key
        certificate.not_before = Time.now - 3600
        certificate.not_after = Time.now + 86_400
        [key, extend_and_sign(certificate, key)]
      end

      def extend_and_sign(certificate, key)
        factory = OpenSSL::X509::ExtensionFactory.new(certificate, certificate)
        certificate.add_extension(factory.create_extension("subjectAltName", "DNS:localhost,IP:127.0.0.1"))
        certificate.add_extension(factory.create_extension("basicConstraints", "CA:TRUE", true))
        certificate.sign(key, OpenSSL::Digest.new("SHA256"))
      end
    end
  end
end
