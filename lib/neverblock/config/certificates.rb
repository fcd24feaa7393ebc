# frozen_string_literal: true

# The parameters of an https address: cert=FILE&key=FILE, once for each certificate; a key that
# stands in the file of its certificate needs no `key`. passphrase_env=NAME or
# passphrase_command=COMMAND after a certificate says where the passphrase of its key is. %20 is a
# space, %26 an ampersand.

require "neverblock/config/percent"
require "neverblock/tls/identity"

module NeverBlock
  class Config
    class Certificates
      # Each parameter, and what it names.
      KNOWN = {
        "cert" => "FILE", "key" => "FILE",
        "passphrase_env" => "NAME", "passphrase_command" => "COMMAND"
      }.freeze

      # @param query [String] what follows the question mark
      # @param refuse [#call] raises, with how to mend it
      def initialize(query, refuse)
        @query = query
        @refuse = refuse
      end

      # @return [Array<TLS::Identity::Files>] with absolute paths
      # @raise [ConfigError]
      def identities
        found = []
        pairs.each do |name, value|
          if name == "cert" then found << TLS::Identity::Files.new(path(value))
          else add(found.last, name, value)
          end
        end
        found.each { |files| files.key ||= files.cert }.each(&:freeze)
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

      # A tilde is the home of a user.
      def path(text)
        File.expand_path(text)
      rescue ArgumentError => e
        @refuse.call("the path #{text.inspect} has no meaning here: #{e.message}")
      end
    end
  end
end
