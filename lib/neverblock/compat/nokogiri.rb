# frozen_string_literal: true

# libxml2 reads from an IO through a callback, and keeps its error handler for the thread meanwhile
# (xmlSetStructuredErrorFunc). A wait in such a callback blocks the thread
# (binding/fibers/frames.c). But the parts of a streamed request body come through the thread's own
# loop. So here such a body is read before it is parsed. Nokogiri 1.13 and later.

require "stringio"
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
