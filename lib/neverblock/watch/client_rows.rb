# frozen_string_literal: true

# The clients of /status.json that take their responses slowest, as rows of a table.

require "neverblock/watch/units"

module NeverBlock
  module Watch
    class ClientRows
      HEADER = ["slow client", "protocol", "sent by", "for", "taken", "left", "speed"].freeze
      # Columns of text.
      LEFT = [0, 1, 2].freeze
      PROTOCOLS = { "h2" => "HTTP/2", "http/1.1" => "HTTP/1.1" }.freeze
      private_constant :PROTOCOLS

      # @param document [Document]
      def initialize(document)
        @parts = document.parts("slow_clients", "clients")
        @count = document.number("slow_clients", "count") || @parts.size
        @complete = document.true?("slow_clients", "complete")
      end

      # @return [Array<Array<String>>] the header and a row for each, then one that tells of more;
      #   empty without slow clients
      def to_a
        return [] if @parts.empty?

        [HEADER, *@parts.map { |part| row(part) }, *more]
      end

      private

      def row(part)
        [client(part), protocol(part), part.text("algorithm") || "the I/O loop",
         Units.age(part.number("age_s")), Units.bytes(part.number("sent_bytes")),
         Units.bytes(part.number("left_bytes")), speed(part)]
      end

      # Clients of UNIX sockets have no port.
      def client(part)
        port = part.number("port")
        return "UNIX socket" unless port

        address = part.text("address") || "?"
        address = "[#{address}]" if address.include?(":")
        "#{address}:#{port}"
      end

      def protocol(part)
        name = part.text("protocol") || "?"
        PROTOCOLS.fetch(name, name)
      end

      def speed(part)
        limit = part.number("limit_bytes_per_second")
        speed = Units.speed(part.number("bytes_per_second"))
        limit ? "#{speed} of #{Units.speed(limit)}" : speed
      end

      def more
        number = @count - @parts.size
        return [] unless number.positive?

        [["and #{"at least " unless @complete}#{Units.count(number)} more"]]
      end
    end
  end
end
