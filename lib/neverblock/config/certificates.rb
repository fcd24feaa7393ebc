# frozen_string_literal: true

# The parameters of an https address: cert=FILE&key=FILE, once for each certificate; a key that
# stands in the file of its certificate needs no `key`. passphrase_env=NAME or
# passphrase_command=COMMAND after a certificate says where the passphrase of its key is.
# verify=WORD and ca=FILE say whether clients show a certificate. %20 is a space, %26 an ampersand.

require "neverblock/config/paths"
require "neverblock/config/percent"
require "neverblock/config/secure"
require "neverblock/tls/identity"

module NeverBlock
  class Config
    class Certificates
      # Each parameter, and what it names.
      KNOWN = {
        "cert" => "FILE", "key" => "FILE",
        "passphrase_env" => "NAME", "passphrase_command" => "COMMAND",
        "verify" => "WORD", "ca" => "FILE"
      }.freeze
      # Of the address; the others are of one certificate.
      OF_CLIENTS = %w[verify ca].freeze
      private_constant :OF_CLIENTS

      # @return [Array<TLS::Identity::Files>] with absolute paths
      attr_reader :identities
      # @return [Symbol, nil] :none, :optional or :required; nil: as `tls { verify }` says
      attr_reader :verify
      # @return [String, nil] an absolute path; nil: as `tls { ca }` says
      attr_reader :authorities

      # @param query [String] what follows the question mark
      # @param refuse [#call] raises, with how to mend it
      # @raise [ConfigError]
      def initialize(query, refuse)
        @query = query
        @refuse = refuse
        of_clients, others = pairs.partition { |name, _| OF_CLIENTS.include?(name) }
        @identities = identities_of(others).freeze
        read_clients(of_clients)
      end

      private

      def pairs
        @query.split("&").map do |pair|
          name, _, value = pair.partition("=")
          value = Percent.decode(value)
          check(name, value)
          [name, value]
        end
      end

      def identities_of(pairs)
        found = []
        pairs.each do |name, value|
          if name == "cert" then found << TLS::Identity::Files.new(path(value))
          else add(found.last, name, value)
          end
        end
        found.each { |files| files.key ||= files.cert }.each(&:freeze)
      end

      def read_clients(pairs)
        pairs.map(&:first).tally.each do |name, times|
          @refuse.call("an address has one #{name}; remove the others") if times > 1
        end
        words = pairs.to_h
        @verify = words["verify"]&.then { |word| verify_of(word) }
        @authorities = words["ca"]&.then { |file| path(file) }
        return unless @authorities && @verify == :none

        @refuse.call("ca is for verify=required or verify=optional; remove it, or verify=none")
      end

      def verify_of(word)
        known = Secure::VERIFY
        known.find { |one| one.name == word } or
          @refuse.call("verify must be #{known[..-2].join(", ")} or #{known.last}; " \
                       "got #{word.inspect}")
      end

      def check(name, value)
        argument = KNOWN.fetch(name) do
          @refuse.call("unknown parameter #{name.inspect}; an https address takes " \
                       "#{KNOWN.keys.join(", ")}")
        end
        @refuse.call("#{name} is empty; write #{name}=#{argument}") if value.empty?
        @refuse.call("#{name} has a NUL byte") if value.include?("\0")
      end

      def add(files, name, value)
        @refuse.call("#{name} stands before its certificate; begin with cert=FILE") unless files

        name == "key" ? add_key(files, value) : add_passphrase(files, name, value)
      end

      def add_key(files, value)
        @refuse.call("a certificate has one key; begin the next with cert=FILE") if files.key
        files.key = path(value)
      end

      def add_passphrase(files, name, value)
        @refuse.call("a key has one passphrase; remove #{name}") if files.passphrase
        files.passphrase = [name.delete_prefix("passphrase_").to_sym, value]
      end

      def path(text)
        Paths.expand(text)
      rescue ConfigError => e
        @refuse.call(e.message)
      end
    end
  end
end
