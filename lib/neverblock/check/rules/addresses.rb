# frozen_string_literal: true

# Where the configuration says to listen, against the addresses this machine has.

require "neverblock/check/finding"
require "neverblock/server/addresses"

module NeverBlock
  module Check
    module Rules
      module Addresses
        module_function

        # @return [Array<Finding>]
        def call(subject, addresses: Server::Addresses.new)
          [*subject.config.binds, subject.config.admin].compact.reject(&:unix?).uniq(&:host).flat_map { |bind| of(bind, addresses) }
        end

        def of(bind, addresses)
          here, elsewhere = addresses.of(bind.host).partition { |address| addresses.here?(address) }
          return [nowhere(bind, elsewhere)] if here.empty?

          elsewhere.empty? ? [] : [some(bind, here, elsewhere)]
        rescue SocketError => e
          [Finding.of(:serious, "bind", "the server does not start: #{bind} names a host without address (#{e.message.sub(/\Agetaddrinfo: /, "")})",
                      "write an address, such as http://127.0.0.1:#{bind.port}")]
        end

        def nowhere(bind, addresses)
          Finding.of(:serious, "bind", "the server does not start: #{bind} means #{addresses.join(", ")}, and this machine has no such address",
                     "127.0.0.1 is this machine alone, 0.0.0.0 every IPv4 address it has")
        end

        def some(bind, here, elsewhere)
          Finding.of(:note, "bind", "#{bind} listens on #{here.join(", ")} alone: #{elsewhere.join(", ")}, which #{bind.host} means too, is no address of this machine",
                     "nothing, where clients come to #{here.first}; else write the addresses that are meant")
        end
        private_class_method :of, :nowhere, :some
      end
    end
  end
end
