# frozen_string_literal: true

# The certificate of an https address that names none: for development. Where the gem localhost is
# there, its authority signs it, which a machine can be told to trust. Else it is self-signed, lives
# in memory, and every client has to be told to accept it.

require "ipaddr"
require "neverblock/tls/self_signed"

module NeverBlock
  module TLS
    class Development
      DAYS = 30
      LOCALHOST = "localhost"
      LOOPBACK = %w[127.0.0.1 ::1].freeze
      # Addresses that stand for all of a machine.
      WILDCARDS = %w[0.0.0.0 ::].freeze
      private_constant :DAYS, :LOCALHOST, :LOOPBACK, :WILDCARDS

      # Blocks while the gem writes a new certificate to its folder.
      # @param host [String] a name or an address
      # @param load [#call] requires the gem localhost, or raises LoadError
      # @return [Array(Identity, String)] with a log line that says what it is
      # @raise [Unusable] this Ruby has no openssl, or a file of the gem is broken
      def self.identity(host, load: -> { require "localhost" })
        Identity.require_openssl
        new(host).identity(load)
      end

      # @param host [String]
      def initialize(host)
        @host = host
        @address = address?(host)
        @name = @address ? LOCALHOST : host
      end

      # @param load [#call]
      # @return [Array(Identity, String)]
      def identity(load)
        by_localhost_gem(load) || self_signed
      end

      private

      # A zone (RFC 4007 section 11) is not part of the address.
      def address?(host)
        IPAddr.new(host.sub(/%.*/, ""))
        true
      rescue IPAddr::Error
        false
      end

      # Its certificates are for names. nil: it is not there, or cannot keep a certificate.
      def by_localhost_gem(load)
        return if @address && !(LOOPBACK + WILDCARDS).include?(@host)

        load.call
        authority = ::Localhost::Authority.fetch(@name)
        [Identity.new([authority.certificate], authority.key),
         "https://#{shown} has a certificate of the gem localhost; `bake localhost:install` has " \
         "this machine trust it"]
      rescue LoadError, SystemCallError, ArgumentError # ArgumentError: there is no home folder
        nil
      rescue OpenSSL::OpenSSLError => e
        raise Unusable, "#{broken_file || "a file"} of the gem localhost is broken " \
                        "(#{e.message}): remove it, and the gem makes another"
      end

      # @return [String, nil] its path
      def broken_file
        return unless ::Localhost::Authority.respond_to?(:path)

        folder = ::Localhost::Authority.path
        { "crt" => OpenSSL::X509::Certificate.method(:new),
          "key" => ->(text) { OpenSSL::PKey.read(text, "") } }.each do |kind, read|
          path = File.join(folder, "#{@name}.#{kind}")
          read.call(File.binread(path)) if File.exist?(path)
        rescue OpenSSL::OpenSSLError
          return path
        end
        nil
      rescue SystemCallError
        nil
      end

      def self_signed
        addresses = LOOPBACK
        addresses |= [@host.sub(/%.*/, "")] if @address && !WILDCARDS.include?(@host)
        [SelfSigned.identity([@name], days: DAYS, addresses: addresses),
         "https://#{shown} has a certificate of its own making, for development: browsers warn; " \
         "the gem localhost makes one that a machine can trust, cert=F&key=F name real ones"]
      end

      def shown
        @host.include?(":") ? "[#{@host}]" : @host
      end
    end
  end
end
