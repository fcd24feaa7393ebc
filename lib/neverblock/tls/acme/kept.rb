# frozen_string_literal: true

# The certificate of `tls { acme }` as its file has it now, and what it says about when to ask for
# the next one.

require "neverblock/tls/identity"

module NeverBlock
  module TLS
    class Acme
      class Kept
        # A certificate is renewed when this part of its lifetime is left
        # (https://letsencrypt.org/docs/integration-guide, "When to Renew").
        LEFT = 1.0 / 3
        private_constant :LEFT

        # @param order [Config::Acme]
        # @return [Kept, nil] nil: there is none that can be used
        def self.of(order)
          new(Identity.read(order.files), order.names)
        rescue Unusable
          nil
        end

        # @param identity [Identity]
        # @param names [Array<String>] that it is to be for
        def initialize(identity, names)
          @identity = identity
          @names = names
        end

        # @return [Time]
        def not_after
          @identity.not_after
        end

        # @return [Time] when the next one is asked for, unless the ACME server says another time
        def renew_at
          return Time.at(0) unless (@names - @identity.names).empty?

          not_after - ((not_after - @identity.not_before) * LEFT)
        end

        # @return [OpenSSL::X509::Certificate]
        def certificate
          OpenSSL::X509::Certificate.new(@identity.chain)
        end
      end
    end
  end
end
