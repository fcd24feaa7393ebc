# frozen_string_literal: true

# Text of unknown origin as characters for the log. Every entry is UTF-8 (RFC 8259 section 8.1 asks it of JSON, terminals and collectors of all else), whatever bytes
# a client, an exception or a library has put into it.

module NeverBlock
  class Log
    module Characters
      # What a terminal or a viewer takes for an order, not for a character: controls (C0 and C1), format characters (direction, zero width), line separators.
      UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/.freeze
      # C1 controls, as UTF-8 has them.
      C1 = /[\u0080-\u009f]/.freeze

      module_function

      # @param value [#to_s]
      # @return [String] in UTF-8, which may not be valid
      def utf8(value)
        text = value.to_s
        return text if text.encoding == Encoding::UTF_8
        return text.encode(Encoding::UTF_8) unless text.encoding == Encoding::BINARY || text.encoding == Encoding::US_ASCII

        text.dup.force_encoding(Encoding::UTF_8)
      rescue EncodingError
        text.dup.force_encoding(Encoding::UTF_8)
      end

      # The path or the target of a request: bytes that are no UTF-8, and characters that nobody sees, are encoded as a URL has them. It stays the same URL.
      # @param value [#to_s]
      # @return [String] UTF-8
      def target(value)
        text = utf8(value)
        return text if text.ascii_only? && !text.match?(UNSEEN)

        text.scrub { |bytes| encoded(bytes) }.gsub(UNSEEN) { |character| encoded(character) }
      end

      # @param value [#to_s]
      # @return [String] UTF-8; bytes that are none, and C1 controls, as \xNN
      def valid(value)
        text = utf8(value)
        return text if text.ascii_only?

        text.scrub { |bytes| escaped(bytes) }.gsub(C1) { |character| escaped(character) }
      end

      def encoded(text)
        text.each_byte.map { |byte| format("%%%02X", byte) }.join
      end
      private_class_method :encoded

      def escaped(text)
        text.each_byte.map { |byte| format("\\x%02x", byte) }.join
      end
      private_class_method :escaped
    end
  end
end
