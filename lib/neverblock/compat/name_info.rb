# frozen_string_literal: true

# getnameinfo(3), which asks a name server for the name of an address, has no hook in any Ruby
# (raddrinfo.c, rb_getnameinfo). It would stop the loop until the server answers. Here, in a fiber,
# it is called on another thread (NB.offload). A timeout leaves it there.

require "socket"

module NeverBlock
  module Compat
    module NameInfo
      # With both flags no server is asked.
      NUMERIC = Socket::NI_NUMERICHOST | Socket::NI_NUMERICSERV

      def self.call(flags, &block)
        return block.call unless Compat.scheduler && flags.to_i & NUMERIC != NUMERIC

        NeverBlock.offload(&block)
      end

      def getnameinfo(flags = 0)
        NameInfo.call(flags) { super }
      end

      # Prepended to Socket's singleton class.
      module OfSocket
        def getnameinfo(address, flags = 0)
          NameInfo.call(flags) { super }
        end
      end

      # Prepended to IPSocket. #addr and #peeraddr ask a server with true and :hostname, and without
      # an argument while do_not_reverse_lookup is off.
      module OfPeer
        def addr(reverse_lookup = nil)
          neverblock_asks?(reverse_lookup) ? NeverBlock.offload { super } : super
        end

        def peeraddr(reverse_lookup = nil)
          neverblock_asks?(reverse_lookup) ? NeverBlock.offload { super } : super
        end

        private

        def neverblock_asks?(reverse_lookup)
          return false unless Compat.scheduler

          reverse_lookup.nil? ? !do_not_reverse_lookup : [true, :hostname].include?(reverse_lookup)
        end
      end
    end

    Addrinfo.prepend(NameInfo)
    Socket.singleton_class.prepend(NameInfo::OfSocket)
    IPSocket.prepend(NameInfo::OfPeer)
  end
end
