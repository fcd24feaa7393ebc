# frozen_string_literal: true

# The addresses of this machine that a host of a bind stands for: its own where it is an address, all that a name has. "localhost" is the loopback addresses of
# both families, whatever /etc/hosts says (RFC 6761 section 6.3): browsers and curl try ::1 first.

require "socket"

module NeverBlock
  class Server
    class Addresses
      LOCALHOST = /\A(?:.+\.)?localhost\.?\z/i.freeze
      LOOPBACK = %w[127.0.0.1 ::1].freeze
      # What says that an address is none of this machine's (bind(2)), that there is no such family, or that rules of the system forbid it (socket(2)).
      ABSENT = [Errno::EADDRNOTAVAIL, Errno::EAFNOSUPPORT, Errno::EPROTONOSUPPORT, Errno::EACCES, Errno::EPERM].freeze

      # @param resolver [#getaddrinfo]
      def initialize(resolver = Addrinfo)
        @resolver = resolver
      end

      # @param host [String] a name or an address, without brackets
      # @return [Array<String>] numeric, the IPv4 ones first: every client has those
      # @raise [SocketError] when it has none
      def of(host)
        found = localhost?(host) ? LOOPBACK : resolved(host)
        found.partition { |address| !address.include?(":") }.flatten
      end

      # @param host [String]
      # @return [Boolean] whether it is a name, which may have several
      def name?(host)
        !host.match?(/\A[\d.]+\z|:/)
      end

      # @param host [String]
      # @return [Boolean]
      def localhost?(host)
        host.match?(LOCALHOST)
      end

      # @param address [String] numeric
      # @return [Boolean] whether a server of this machine may listen there, whatever is busy
      def here?(address)
        Addrinfo.tcp(address, 0).bind { true }
      rescue *ABSENT
        false
      end

      private

      def resolved(host)
        @resolver.getaddrinfo(host, nil, nil, :STREAM).map(&:ip_address).uniq
      end
    end
  end
end
