# frozen_string_literal: true

# The addresses of this machine for a bind's host: the host itself if it is an address, else all
# addresses of the name. "localhost" is the loopback address of both families, whatever /etc/hosts
# says (RFC 6761 section 6.3), because browsers and curl try ::1 first.

require "socket"

module NeverBlock
  class Server
    class Addresses
      LOCALHOST = /\A(?:.+\.)?localhost\.?\z/i.freeze
      LOOPBACK = %w[127.0.0.1 ::1].freeze
      # Errors for an address that this machine does not have (bind(2)), for a missing address
      # family, and for rules of the system that forbid it (socket(2)).
      ABSENT = [
        Errno::EADDRNOTAVAIL, Errno::EAFNOSUPPORT, Errno::EPROTONOSUPPORT,
        Errno::EACCES, Errno::EPERM
      ].freeze

      # @param resolver [#getaddrinfo]
      def initialize(resolver = Addrinfo)
        @resolver = resolver
      end

      # @param host [String] a name or an address, without brackets
      # @return [Array<String>] numeric addresses, IPv4 first because every client has it
      # @raise [SocketError] when the name has no address
      def of(host)
        found = localhost?(host) ? LOOPBACK : resolved(host)
        found.partition { |address| !address.include?(":") }.flatten
      end

      # @param host [String]
      # @return [Boolean] whether it is a name
      def name?(host)
        !host.match?(/\A[\d.]+\z|:/)
      end

      # @param host [String]
      # @return [Boolean]
      def localhost?(host)
        host.match?(LOCALHOST)
      end

      # @param host [String]
      # @return [String, nil] the name in lower case, without the dot at its end; nil for an address
      #   and for localhost
      def own_name(host)
        host.downcase.delete_suffix(".") if name?(host) && !localhost?(host)
      end

      # @param address [String] numeric
      # @return [Boolean] whether a server of this machine could listen there, if the port is free
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
