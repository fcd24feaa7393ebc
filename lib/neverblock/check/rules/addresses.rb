# frozen_string_literal: true

# The addresses of the configuration, compared with those of this machine.

require "neverblock/check/finding"
require "neverblock/server/addresses"

module NeverBlock
  module Check
    module Rules
      module Addresses
        module_function

        # @return [Array<Finding>]
        def call(subject, addresses: Server::Addresses.new)
          binds = [*subject.config.binds, subject.config.admin].compact.reject(&:unix?)
          binds.uniq(&:host).flat_map { |bind| of(bind, addresses) }
        end

        def of(bind, addresses)
          here, elsewhere = addresses.of(bind.host).partition { |address| addresses.here?(address) }
          return [nowhere(bind, elsewhere)] if here.empty?

          elsewhere.empty? ? [] : [some(bind, here, elsewhere)]
        rescue SocketError => e
          reason = e.message.sub(/\Agetaddrinfo: /, "")
          [Finding.of(:serious, "bind",
                      "the server does not start: the host of #{bind} has no address (#{reason})",
                      "write an address, such as http://127.0.0.1:#{bind.port}")]
        end

        def nowhere(bind, addresses)
          Finding.of(:serious, "bind",
                     "the server does not start: #{bind} means #{addresses.join(", ")}, and this " \
                     "machine has no such address",
                     "127.0.0.1 is this machine alone, 0.0.0.0 is every IPv4 address it has")
        end

        def some(bind, here, elsewhere)
          Finding.of(:note, "bind",
                     "#{bind} listens only on #{here.join(", ")}: #{bind.host} also means " \
                     "#{elsewhere.join(", ")}, which this machine does not have",
                     "nothing, if clients connect to #{here.first}; else write the addresses")
        end
        private_class_method :of, :nowhere, :some
      end
    end
  end
end
