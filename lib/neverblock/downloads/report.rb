# frozen_string_literal: true

# What became of one download that the application had named by X-Download-Id.

require "json"

module NeverBlock
  module Downloads
    class Report
      # complete: its last byte has left for the client; not_modified: the client had the file already (304); refused: a setting does not allow the file, or what
      # the request asks of it cannot be had (412, 416); missing: there is no such file; aborted: the client has left, or the server ended first; timed_out: the client
      # took too little for too long.
      RESULTS = %i[complete not_modified refused missing aborted timed_out].freeze

      # @return [String] as the application gave it
      attr_reader :id
      # @return [String] of the file, as the application gave it
      attr_reader :path
      # @return [Integer] of the response's body that left
      attr_reader :bytes
      # @return [Float] from the application's answer to the end
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

      # @return [Float] 0.0 where nothing was sent
      def bytes_per_second
        bytes.zero? || seconds <= 0 ? 0.0 : bytes / seconds
      end

      # @return [Hash{Symbol => Object}]
      def to_h
        { id: id, path: path, bytes: bytes, seconds: seconds, bytes_per_second: bytes_per_second.round(1), result: result }
      end

      # @return [String] an object
      def to_json(*)
        JSON.generate(to_h.merge(path: path.dup.force_encoding(Encoding::UTF_8).scrub("\u{fffd}")))
      end

      # @return [Array] what #initialize takes
      def to_a
        [id, path, bytes, seconds, result]
      end
    end
  end
end
