# frozen_string_literal: true

# The settings of TLS (`tls { }`), for all https addresses: certificates for those that name none,
# and what clients may use.

require "neverblock/errors"
require "neverblock/tls/identity"

module NeverBlock
  class Config
    class Secure
      VERSIONS = { "1.2": 0x0303, "1.3": 0x0304 }.freeze
      private_constant :VERSIONS

      # @return [Array<TLS::Identity::Files>]
      attr_reader :identities

      # @param cert [Array<String>] paths
      # @param key [Array<String>] paths; empty: in the files of the certificates
      # @param passphrase_env [String, nil]
      # @param passphrase_command [String, nil]
      # @param min_version [Symbol]
      # @param ciphers [String, nil] nil: the default, as for the others
      # @param suites [String, nil]
      # @param curves [String, nil]
      # @raise [ConfigError]
      def initialize(cert: [], key: [], passphrase_env: nil, passphrase_command: nil,
                     min_version: :"1.2", ciphers: nil, suites: nil, curves: nil)
        unless key.empty? || key.size == cert.size
          raise ConfigError, "tls: there are #{cert.size} cert and #{key.size} key; write a key " \
                             "for each cert, in their order"
        end

        passphrase = passphrase_of(passphrase_env, passphrase_command)
        @identities = cert.each_with_index.map do |path, number|
          TLS::Identity::Files.new(*[path, key[number] || path].map { |name| File.expand_path(name) },
                                   passphrase)
        end.freeze
        @context = [VERSIONS.fetch(min_version), nil, ciphers, suites, curves, nil].freeze
        freeze
      end

      # @return [Array] arguments of TLSContext.new
      def context_arguments
        @context
      end

      private

      def passphrase_of(variable, command)
        if variable && command
          raise ConfigError, "tls: passphrase_env and passphrase_command are both set; keep one"
        end

        variable ? [:env, variable] : command && [:command, command]
      end
    end
  end
end
