# frozen_string_literal: true

# Certificates in PEM (RFC 7468 section 5). Each one that begins has to end: a text without its last
# bytes is a file that somebody writes right now, or could not write whole.

require "neverblock/tls/unusable"

module NeverBlock
  module TLS
    module Chain
      BEGIN_LINE = "-----BEGIN CERTIFICATE-----"
      END_LINE = "-----END CERTIFICATE-----"
      KEY_BEGIN = /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.freeze
      # The first bytes of a line that is not whole.
      CUT_LINE = /^-----[A-Z ]*-{0,4}\z/.freeze
      private_constant :CUT_LINE

      class << self
        # @param text [String]
        # @param name [String] where it comes from, for messages
        # @return [Array<OpenSSL::X509::Certificate>] in their order, one or more
        # @raise [Unusable]
        def read(text, name)
          parts = text.split(BEGIN_LINE, -1).drop(1)
          no_certificate(text, name) if parts.empty?

          found = parts.map.with_index(1) { |part, number| certificate(part, number, name) }
          return found unless text.match?(CUT_LINE) && BEGIN_LINE.start_with?(text[CUT_LINE])

          no_end(found.size + 1, name)
        end

        private

        def no_certificate(text, name)
          raise Unusable, "#{name} has no certificate in PEM (a line #{BEGIN_LINE})" \
                          "#{"; it has a private key" if text.match?(KEY_BEGIN)}"
        end

        def no_end(number, name)
          raise Unusable, "#{name}: its certificate number #{number} has no end"
        end

        # @param part [String] what follows its first line
        def certificate(part, number, name)
          body, last = part.partition(END_LINE)
          no_end(number, name) if last.empty?

          OpenSSL::X509::Certificate.new("#{BEGIN_LINE}#{body}#{last}\n")
        rescue OpenSSL::X509::CertificateError => e
          raise Unusable, "#{name}: its certificate number #{number} is broken (#{e.message})"
        end
      end
    end
  end
end
