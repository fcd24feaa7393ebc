# frozen_string_literal: true

# Net::HTTP closes its connection after a StandardError, but not after other exits from a request:
# Timeout.timeout around it (which nothing in its block can rescue), NB::Cancelled, `throw`, `break`
# out of a block that reads the body, Thread#kill. The next request on that connection then reads
# the rest of the old answer. It is so on threads as well, in every version up to net-http 0.9
# (net/http.rb, transport_request). Here a request that is left early closes the connection, and the
# next one connects.
#
# Net::HTTP::Persistent, Faraday and every pool of Net::HTTP objects use it.

module NeverBlock
  module Compat
    module NetHTTP
      # Installs it once, when net/http is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Net::HTTP)
        return unless ::Net::HTTP.private_method_defined?(:transport_request)

        ::Net::HTTP.prepend(Closes) unless ::Net::HTTP.include?(Closes)
      end

      # Prepended to Net::HTTP.
      module Closes
        private

        def transport_request(request)
          ended = false
          response = super
          ended = true
          response
        ensure
          @socket&.close unless ended
        end
      end
    end
  end
end
