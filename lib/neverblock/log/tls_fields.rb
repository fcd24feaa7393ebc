# frozen_string_literal: true

# What the entry of a request says of TLS. The I/O loop gives it as one text
# (core/metrics/request_log.h).

module NeverBlock
  class Log
    module TLSFields
      # @param text [String] "TLSv1.3 TLS_AES_256_GCM_SHA384 resumed", or "... full"
      # @return [Hash{Symbol => Object}] tls_version, tls_cipher (OpenSSL's name), and tls_resumed:
      #   whether the connection goes on with a session of one before
      def self.of(text)
        version, cipher, how = text.split
        { tls_version: version, tls_cipher: cipher, tls_resumed: how == "resumed" }
      end
    end
  end
end
