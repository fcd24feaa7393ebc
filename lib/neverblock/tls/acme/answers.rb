# frozen_string_literal: true

# What the server answers an ACME server that validates host names: by HTTP-01 on the plain
# addresses, by TLS-ALPN-01 on the https ones. The I/O loops do it; here they are told.

require "neverblock/tls/self_signed"

module NeverBlock
  module TLS
    class Acme
      class Answers
        # id-pe-acmeIdentifier (RFC 8737 section 6.1).
        IDENTIFIER = "1.3.6.1.5.5.7.1.31"
        # Days of a challenge's certificate, whose dates nobody looks at.
        DAYS = 7
        private_constant :IDENTIFIER, :DAYS

        # @param engine [Engine]
        # @param listeners [Listeners]
        def initialize(engine, listeners)
          @engine = engine
          @listeners = listeners
        end

        # Answers while the block runs.
        # @param kind [Symbol] :http_01 or :tls_alpn_01
        # @param challenges [Hash{String => Acme::Client::Resources::Challenges::Base}] by host name
        # @return [Object] what the block returns
        def while_asked(kind, challenges)
          set(kind, challenges)
          yield
        ensure
          set(kind, {})
        end

        # The certificate that answers TLS-ALPN-01 (RFC 8737 section 3).
        # @param name [String]
        # @param authorization [String] the key authorization (RFC 8555 section 8.1)
        # @return [Identity]
        def self.certificate(name, authorization)
          digest = OpenSSL::Digest.digest("SHA256", authorization)
          value = OpenSSL::ASN1::OctetString.new(digest).to_der
          extension = OpenSSL::X509::Extension.new(IDENTIFIER, value, true)
          SelfSigned.identity([name], days: DAYS, extensions: [extension])
        end

        private

        def set(kind, challenges)
          if kind == :http_01
            @engine.challenges = challenges.each_value.map { |one|
              [one.token, one.key_authorization]
            }
          else
            @listeners.challenges = challenges.to_h do |name, one|
              [name, self.class.certificate(name, one.key_authorization)]
            end
          end
        end
      end
    end
  end
end
