# frozen_string_literal: true

# The content of /status.json at one moment. A server of another version may omit fields, add some
# or give them another type. A field of an unexpected type is nil here, and never an error.

require "json"
require "neverblock/watch/client"

module NeverBlock
  module Watch
    class Document
      # Parts of latency_s, in the order of a request's life; values of each; classes of responses.
      STAGES = %w[head queue body run write total].freeze
      QUANTILES = %w[p50 p90 p99 max].freeze
      CLASSES = %w[1xx 2xx 3xx 4xx 5xx].freeze

      # Longest string, in characters, that is shown on a terminal.
      TEXT_MAX = 200

      # @param text [String]
      # @return [Document]
      # @raise [Unreachable] when it is not a JSON object
      def self.parse(text)
        values = JSON.parse(text)
        unless values.is_a?(Hash)
          raise Unreachable, "the admin address answered with JSON that is not an object; " \
                             "check that it is NeverBlock's"
        end

        new(values)
      rescue JSON::ParserError, EncodingError
        raise Unreachable, "the admin address answered with something that is not JSON; " \
                           "check that it is NeverBlock's"
      end

      # @param text [String] may have invalid bytes
      # @return [String] without control characters, which a terminal would obey
      def self.clean(text)
        text.scrub("?").gsub(/[[:cntrl:]]/, "?")
      end

      # @param values [Hash]
      def initialize(values)
        @values = values
      end

      # @param path [Array<String>]
      # @return [Integer, Float, nil]
      def number(*path)
        value = dig(path)
        value if value.is_a?(Integer) || (value.is_a?(Float) && value.finite?)
      end

      # @return [String, nil] without control characters
      def text(*path)
        value = dig(path)
        clean(value) if value.is_a?(String)
      end

      # @return [Array<String>]
      def texts(*path)
        list(path).grep(String).map { |value| clean(value) }
      end

      # @return [Array<Document>] one for each object of a list
      def parts(*path)
        list(path).grep(Hash).map { |values| Document.new(values) }
      end

      # @return [Array<String>] keys of an object, without control characters
      def names(*path)
        value = dig(path)
        value.is_a?(Hash) ? value.keys.map { |name| clean(name) } : []
      end

      # @return [Boolean] whether there is an object or a list at this path
      def any?(*path)
        value = dig(path)
        (value.is_a?(Hash) || value.is_a?(Array)) && !value.empty?
      end

      # @return [String] an executor's id, marked where its worker ends with its last request
      def executor_name
        "#{id || "?"}#{" (old)" if true?("retiring")}"
      end

      # @return [Boolean] whether there is true at this path
      def true?(*path)
        dig(path) == true
      end

      # @return [Hash] the object as it was parsed
      def to_h
        @values
      end

      # @return [Integer, String, nil] id of an executor
      def id
        number("id") || text("id")
      end

      # @return [Boolean] whether the server accepts requests
      def running?
        text("state") == "running"
      end

      private

      def dig(path)
        path.inject(@values) { |value, name| value.is_a?(Hash) ? value[name] : nil }
      end

      def list(path)
        value = dig(path)
        value.is_a?(Array) ? value : []
      end

      def clean(value)
        Document.clean(value)[0, TEXT_MAX]
      end
    end
  end
end
