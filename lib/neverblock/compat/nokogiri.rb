# frozen_string_literal: true

# libxml2 reads from an IO through a callback, and keeps its error handler for the thread meanwhile
# (xmlSetStructuredErrorFunc). A wait for a descriptor in such a callback blocks the thread
# (binding/fibers/frames.c). But the parts of a streamed request body come through the thread's own
# loop, and other objects than IOs may wait for a Queue, which another fiber of the thread may have
# to fill. So here those are read before they are parsed. Nokogiri 1.13 and later.

require "stringio"
require "neverblock/errors"
require "neverblock/rack/stream_input"

module NeverBlock
  module Compat
    module Nokogiri
      # Installs it once, when Nokogiri is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Nokogiri::XML::Document)

        [::Nokogiri::XML::Document, ::Nokogiri::HTML4::Document].each do |parser|
          prepend_to(parser.singleton_class, ReadIO)
        end
        prepend_to(::Nokogiri::XML::Reader.singleton_class, FromIO)
        prepend_to(::Nokogiri::XML::SAX::Parser, ParseIO)
      end

      def self.prepend_to(parser, wrapper)
        parser.prepend(wrapper) unless parser.include?(wrapper)
      end
      private_class_method :prepend_to

      # @return [#read] an IO whose reads do not wait for the loop
      def self.whole(io)
        io.is_a?(StreamInput) ? StringIO.new(io.read) : io
      end

      # @param most [Integer, nil] bytes to be read before it is parsed; nil: all
      # @return [#read] an IO whose reads do not wait for another fiber
      def self.ahead(io, most = nil)
        return whole(io) if Compat.scheduler.nil? || io.is_a?(StreamInput)

        io.is_a?(StringIO) || io.respond_to?(:to_io) ? io : ReadAhead.new(io, most)
      end

      # What an IO gives, read when this is made. An error of the IO comes where it would have come.
      class ReadAhead
        PART_BYTES = 16_384

        # @param most [Integer, nil] bytes; what comes behind is read when it is asked for
        def initialize(io, most)
          @io = io
          @parts = []
          bytes = 0
          until @over || (most && bytes >= most)
            part = @io.read(PART_BYTES)
            @over = part.nil? || part.empty?
            @parts << part
            bytes += part.to_s.bytesize
          end
        rescue StandardError => e
          raise if e.is_a?(FromOutside) # Nokogiri would rescue it

          @error = e
        end

        # @param bytes [Integer] at most so many
        # @return [String, nil] nil: the end
        def read(bytes)
          part = @rest || @parts.shift
          raise @error if part.nil? && @error
          return @over ? nil : @io.read(bytes) if part.nil?

          @rest = (part.byteslice(bytes..) if part.bytesize > bytes)
          part.byteslice(0, bytes)
        end
      end

      # Prepended to the singleton classes of documents.
      module ReadIO
        def read_io(io, ...) = super(Nokogiri.ahead(io), ...)
      end

      # Prepended to Nokogiri::XML::Reader.singleton_class. It is for documents of any size.
      module FromIO
        AHEAD_BYTES = 16_777_216

        def from_io(io, *others)
          ahead = Nokogiri.ahead(io, AHEAD_BYTES)
          reader = super(ahead, *others)
          return reader if ahead.equal?(io)

          reader.instance_variable_set(:@neverblock_ahead, ahead) # read from, and kept by nobody
          reader.instance_variable_set(:@source, io)
          reader
        end
      end

      # Prepended to Nokogiri::XML::SAX::Parser, whose handlers are the parser's own.
      module ParseIO
        def parse_io(io, ...) = super(Nokogiri.whole(io), ...)
      end
    end
  end
end
