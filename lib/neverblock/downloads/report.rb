# frozen_string_literal: true

# The result of one download that the application has named by X-Download-Id.

require "json"

module NeverBlock
  module Downloads
    class Report
      # complete: all bytes were sent. not_modified: the client has the file already (304). refused:
      # a setting forbids the file, or the request cannot be met (412, 416). missing: there is no
      # such file. aborted: the client disconnected, or the server ended first. timed_out: the
      # client read too slowly.
      RESULTS = %i[complete not_modified refused missing aborted timed_out].freeze

      # @return [String] value of X-Download-Id
      attr_reader :id
      # @return [String] path of the file, as the application gave it
      attr_reader :path
      # @return [Integer] bytes of the body that were sent
      attr_reader :bytes
      # @return [Float] seconds from the application's response to the end of the download
      attr_reader :seconds
      # @return [Symbol] one of RESULTS
      attr_reader :result

      def initialize(id, path, bytes, seconds, result)
        @id = id
        @path = path
        @bytes = bytes
        @seconds = seconds
        @result = result.to_sym
        freeze
      end

      # @return [Float] 0.0 when nothing was sent
      def bytes_per_second
        bytes.zero? || seconds <= 0 ? 0.0 : bytes / seconds
      end

      # @return [Hash{Symbol => Object}]
      def to_h
        { id: id, path: path, bytes: bytes, seconds: seconds,
          bytes_per_second: bytes_per_second.round(1), result: result }
      end

      # @return [String] a JSON object
      def to_json(*)
        text = path.dup.force_encoding(Encoding::UTF_8).scrub("\u{fffd}")
        JSON.generate(to_h.merge(path: text))
      end

      # @return [Array] the arguments of #initialize
      def to_a
        [id, path, bytes, seconds, result]
      end
    end
  end
end
