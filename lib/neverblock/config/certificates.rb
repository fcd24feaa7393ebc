# frozen_string_literal: true

# The parameters of an https address: cert=FILE&key=FILE, once for each certificate; a key that
# stands in the file of its certificate needs no `key`. passphrase_env=NAME or
# passphrase_command=COMMAND after a key says where its passphrase is. %20 is a space.

require "neverblock/tls/identity"

module NeverBlock
  class Config
    class Certificates
      KNOWN = %w[cert key passphrase_env passphrase_command].freeze

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
        @query.split("&").each do |pair|
          name, _, value = pair.partition("=")
          value = value.gsub(/%(\h\h)/) { Regexp.last_match(1).hex.chr }
          check(name, value)
          name == "cert" ? found << begin_with(value) : add(found.last, name, value)
        end
        found.each { |one| one.key ||= one.cert }
      end

      private

      def check(name, value)
        unless KNOWN.include?(name)
          @refuse.call("unknown parameter #{name.inspect}; an https address takes " \
                       "#{KNOWN.join(", ")}")
        end
        @refuse.call("#{name} is empty; write #{name}=FILE") if value.empty?
        @refuse.call("#{name} has a NUL byte") if value.include?("\0")
      end

      def begin_with(path)
        TLS::Identity::Files.new(File.expand_path(path))
      end

      def add(files, name, value)
        @refuse.call("#{name} stands before its certificate; begin with cert=FILE") unless files

        if name == "key"
          @refuse.call("a certificate has one key; begin the next with cert=FILE") if files.key
          files.key = File.expand_path(value)
        else
          files.passphrase = [name.delete_prefix("passphrase_").to_sym, value]
        end
      end
    end
  end
end
