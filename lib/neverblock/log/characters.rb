# frozen_string_literal: true

# Converts text of unknown encoding for the log. Every entry is UTF-8, whatever bytes a client, an
# exception or a library has put into it (RFC 8259 section 8.1 requires it for JSON).

module NeverBlock
  class Log
    module Characters
      # Characters that a terminal or viewer interprets: controls (C0 and C1), format characters
      # (direction, zero width), line separators.
      UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/.freeze
      # C1 controls in UTF-8.
      C1 = /[\u0080-\u009f]/.freeze

      module_function

      # @param value [#to_s]
      # @return [String] tagged as UTF-8, possibly invalid
      def utf8(value)
        text = value.to_s
        return text if text.encoding == Encoding::UTF_8
        return text.encode(Encoding::UTF_8) unless untagged?(text)

        text.dup.force_encoding(Encoding::UTF_8)
      rescue EncodingError
        text.dup.force_encoding(Encoding::UTF_8)
      end

      # @param value [#to_s]
      # @return [String] valid UTF-8, with "?" for what is none
      def scrubbed(value)
        utf8(value).scrub("?")
      end

      # The path or target of a request. Invalid bytes and invisible characters are percent-encoded,
      # so that it stays the same URL.
      # @param value [#to_s]
      # @return [String] UTF-8
      def target(value)
        text = utf8(value)
        return text if text.ascii_only? && !text.match?(UNSEEN)

        text.scrub { |bytes| encoded(bytes) }.gsub(UNSEEN) { |character| encoded(character) }
      end

      # @param value [#to_s]
      # @return [String] valid UTF-8; invalid bytes and C1 controls as \xNN
      def valid(value)
        text = utf8(value)
        return text if text.ascii_only?

        text.scrub { |bytes| escaped(bytes) }.gsub(C1) { |character| escaped(character) }
      end

      def untagged?(text)
        [Encoding::BINARY, Encoding::US_ASCII].include?(text.encoding)
      end
      private_class_method :untagged?

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
