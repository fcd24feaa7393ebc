# frozen_string_literal: true

# libxml2 reads from an IO by a callback, and keeps its handler of errors for the thread meanwhile (xmlSetStructuredErrorFunc). What such a callback waits for holds the
# thread (binding/fibers/frames.c); but the parts of a streamed request body come by the thread's own loop. So that is read before it is parsed. Nokogiri 1.13 and later.

require "stringio"
require "neverblock/rack/stream_input"

module NeverBlock
  module Compat
    module Nokogiri
      # Puts it in place once, when Nokogiri is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Nokogiri::XML::Document)

        [::Nokogiri::XML::Document, ::Nokogiri::HTML4::Document].each { |parser| prepend_to(parser.singleton_class, ReadIO) }
        prepend_to(::Nokogiri::XML::Reader.singleton_class, FromIO)
        prepend_to(::Nokogiri::XML::SAX::Parser, ParseIO)
      end

      def self.prepend_to(parser, wrapper)
        parser.prepend(wrapper) unless parser.include?(wrapper)
      end
      private_class_method :prepend_to

      # @return [#read] one that does not wait for the loop
      def self.whole(io)
        io.is_a?(StreamInput) ? StringIO.new(io.read) : io
      end

      # Prepended to the singleton classes of documents.
      module ReadIO
        def read_io(io, ...) = super(Nokogiri.whole(io), ...)
      end

      # Prepended to Nokogiri::XML::Reader.singleton_class.
      module FromIO
        def from_io(io, ...) = super(Nokogiri.whole(io), ...)
      end

      # Prepended to Nokogiri::XML::SAX::Parser.
      module ParseIO
        def parse_io(io, ...) = super(Nokogiri.whole(io), ...)
      end
    end
  end
end
