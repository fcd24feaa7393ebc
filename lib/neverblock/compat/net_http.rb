# frozen_string_literal: true

# Net::HTTP closes its connection after a StandardError, and keeps it after anything else that
# leaves a request half way: Timeout.timeout around it (which nothing in its block can rescue),
# NB::Cancelled, `throw`, `break` out of a block that reads the body, Thread#kill. The next request
# on it reads the rest of that answer. On threads as here; in every version up to net-http 0.9
# (net/http.rb, transport_request). A request that was left half way closes the connection here, and
# the next one connects.
#
# Net::HTTP::Persistent, Faraday and every pool of Net::HTTP objects go through it.

module NeverBlock
  module Compat
    module NetHTTP
      # Puts it in place once, when net/http is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Net::HTTP) && ::Net::HTTP.private_method_defined?(:transport_request)

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
