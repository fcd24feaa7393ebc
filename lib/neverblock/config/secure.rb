# frozen_string_literal: true

# The settings of TLS (`tls { }`), for all https addresses: certificates for those that name none,
# and what clients may use.

require "neverblock/config/paths"
require "neverblock/errors"
require "neverblock/tls/identity"

module NeverBlock
  class Config
    class Secure
      VERIFY = %i[none optional required].freeze # in the order of core/tls/tls.h
      VERSIONS = { "1.2": 0x0303, "1.3": 0x0304 }.freeze
      private_constant :VERSIONS

      # @return [Array<TLS::Identity::Files>]
      attr_reader :identities
      # @return [Array<Acme>] certificates that an ACME server issues
      attr_reader :acme
      # @return [String, nil] ciphers of TLS 1.2; nil: the default
      attr_reader :ciphers
      # @return [Boolean] whether the kernel encrypts where it can
      attr_reader :ktls

      # @param cert [Array<String>] paths
      # @param key [Array<String>] paths; empty: in the files of the certificates
      # @param passphrase_env [String, nil]
      # @param passphrase_command [String, nil]
      # @param acme [Array<Acme>]
      # @param verify [Symbol] :none, :optional or :required
      # @param ca [String, nil] path
      # @param min_version [Symbol]
      # @param ciphers [String, nil] nil: the default, as for the others
      # @param suites [String, nil]
      # @param curves [String, nil]
      # @param ktls [Boolean] whether the kernel encrypts where it can
      # @raise [ConfigError]
      def initialize(cert: [], key: [], passphrase_env: nil, passphrase_command: nil,
                     acme: [], verify: :none, ca: nil,
                     min_version: :"1.2", ciphers: nil, suites: nil, curves: nil, ktls: true)
        unless key.empty? || key.size == cert.size
          raise ConfigError, "tls: there are #{cert.size} cert and #{key.size} key; write a key " \
                             "for each cert, in their order"
        end

        passphrase = passphrase_of(passphrase_env, passphrase_command)
        @identities = cert.each_with_index.map do |path, number|
          paths = [path, key[number] || path].map { |name| Paths.expand(name) }
          TLS::Identity::Files.new(*paths, passphrase).freeze
        end.freeze
        @acme = acme.dup.freeze
        @ciphers = ciphers
        @ktls = ktls
        @verify = verify
        @authorities = path_of_authorities(ca)
        @context = [VERSIONS.fetch(min_version), nil, ciphers, suites, curves, nil].freeze
        freeze
      end

      # @param bind [Bind] an https address
      # @return [Array<TLS::Identity::Files>] its own certificates, else those of these settings
      def identities_of(bind)
        bind.identities.empty? ? @identities : bind.identities
      end

      # @param bind [Bind] an https address
      # @return [Array<Acme>] those that it serves beside the certificates of #identities_of
      def acme_of(bind)
        bind.identities.empty? ? @acme : []
      end

      # What an address asks of its clients: its own parameters, and these settings for the rest.
      # @param bind [Bind] an https address
      # @return [Array(Symbol, String)] :none, :optional or :required, and the path of the file with
      #   what clients' certificates are verified by; nil with :none
      # @raise [ConfigError] one of the two is missing
      def clients_of(bind)
        verify = bind.verify || @verify
        authorities = bind.authorities || @authorities
        return [verify, authorities] unless verify == :none || authorities.nil?
        return [:none, nil] if verify == :none && bind.authorities.nil?

        raise ConfigError, "cannot bind to #{bind}: #{verify == :none ? NO_VERIFY : NO_CA}"
      end

      # @param verify [Symbol]
      # @param authorities [String, nil] text of the file of authorities
      # @return [Array] arguments of TLSContext.new
      def context_arguments(verify, authorities)
        [*@context, VERIFY.index(verify), authorities, ktls]
      end

      NO_VERIFY = "ca needs verify=required or verify=optional beside it"
      NO_CA = "verify needs ca=FILE beside it: the certificates that those of clients are " \
              "verified by"
      private_constant :NO_VERIFY, :NO_CA

      private

      def path_of_authorities(path)
        return path && Paths.expand(path) if (@verify == :none) == path.nil?

        seen = path ? "ca is set" : "there is no ca"
        raise ConfigError, "tls: verify is #{@verify}, and #{seen}; verify :optional or " \
                           ":required needs ca \"FILE\", and ca needs one of them"
      end

      def passphrase_of(variable, command)
        if variable && command
          raise ConfigError, "tls: passphrase_env and passphrase_command are both set; keep one"
        end

        variable ? [:env, variable] : command && [:command, command]
      end
    end
  end
end
