# frozen_string_literal: true

# Percent-encoding in the URLs of addresses (RFC 3986 section 2.1). A plus sign means itself.

module NeverBlock
  class Config
    module Percent
      module_function

      # @param text [String]
      # @return [String] UTF-8, which may have bytes that are none
      def decode(text)
        bytes = text.b.gsub(/%(\h\h)/) { Regexp.last_match(1).hex.chr }
        bytes.force_encoding(Encoding::UTF_8)
      end

      # @param text [String]
      # @return [String] ASCII: letters, digits and `_ . / -` as they are
      def encode(text)
        text.b.gsub(%r{[^\w./-]}n) { |byte| format("%%%02X", byte.ord) }
      end
    end
  end
end
