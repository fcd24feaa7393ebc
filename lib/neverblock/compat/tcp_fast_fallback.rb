# frozen_string_literal: true

# Ruby 3.4 and later: TCPSocket.new by name ("Happy Eyeballs" version 2, RFC 8305) waits by
# select(2) in C code that no hook reaches, for the lookup, and for a connection while other
# addresses are left (ipsocket.c; it connects to the last address as before). Net::HTTP then stops
# every fiber of the thread. Bug #21270, open in 3.4.11. Without that feature, address_resolve and
# io_wait are used, as before 3.4. The first scheduler of the process turns it off, so that a
# thread, NB.run and the server behave alike.

module NeverBlock
  module Compat
    module TcpFastFallback
      # Turns it off for the process, where it exists. The environment variable
      # RUBY_TCP_NO_FAST_FALLBACK does the same.
      # @return [Boolean] whether there was something to turn off
      def self.apply
        require "socket"
        return false unless Socket.respond_to?(:tcp_fast_fallback=)

        Socket.tcp_fast_fallback = false
        true
      end

      # Turns it off once: an application may turn it on again after the first scheduler was made.
      # @return [void]
      def self.apply_once
        return if @applied

        @applied = true
        apply
      end
    end
  end
end
