# frozen_string_literal: true

# Connections that were cut: a fiber was ended from outside (FromOutside) while it waited for one,
# or, where it computed, had used one last (binding/state/watches.c), in the middle of an answer or
# of asking. Its library may give it back to a pool all the same, since it closes after a
# StandardError only, or after none; and whoever has it next would read the rest of somebody else's
# answer. So it is shut down here, and what has come of the answer is dropped: to whoever uses it
# next the server has closed it, and clients connect anew.
# docs/decisions/0013.
#
# Not so after Timeout, Fiber#raise and Thread#raise, which leave it to the library, as on threads.

require "socket"

module NeverBlock
  module Sockets
    # Read at once, in bytes, and how often at most: more than a socket holds (tcp(7), tcp_rmem: 6
    # MB).
    PART_BYTES = 65_536
    PARTS_MAX = 128
    private_constant :PART_BYTES, :PARTS_MAX

    class << self
      # Called by the scheduler (binding/state/watches.c) for each IO that the wait was for and
      # nobody else waits for, and for the one that a fiber which computes has used last, and nobody
      # since. Does not park, and raises nothing.
      # @param io [IO]
      # @param descriptor [Integer, nil] that it had when it was used; nil: it waits
      # @return [Boolean] whether it was shut down
      def cut(io, descriptor = nil)
        return false unless pooled?(io)
        return false if descriptor && io.fileno != descriptor

        io.shutdown
        drop(io)
        true
      rescue IOError, SystemCallError
        false # it is no connection, or has ended
      end

      # Says that a socket is no pool's: a server's connection to its client, or one that its owner
      # cuts himself.
      # @param io [BasicSocket]
      # @return the same
      def spare(io)
        io.instance_variable_set(:@neverblock_spared, true)
        io
      end

      # A limit that is raised between the two steps would leave a socket that closes the
      # descriptor when it is collected.
      # @param descriptor [Integer] a socket's, of a driver in C
      # @return [Socket] of the same connection, with a descriptor of its own
      def copy_of(descriptor)
        Compat::HandleInterrupt.undisturbed do
          Socket.for_fd(descriptor).tap { |socket| socket.autoclose = false }.dup
        end
      end

      private

      # A driver in C has its descriptor for itself, and lends it to an IO; it has its own way
      # (lib/neverblock/db).
      def pooled?(io)
        return false unless BasicSocket === io && !io.closed? && io.autoclose?
        return false if io.instance_variable_defined?(:@neverblock_spared)
        return false unless io.getsockopt(:SOCKET, :TYPE).int == Socket::SOCK_STREAM

        address = io.remote_address
        # A socket without a name was accepted, or is one of a pair.
        !address.unix? || !address.unix_path.empty?
      end

      # What comes later meets a connection that is shut down.
      def drop(io)
        part = String.new(capacity: PART_BYTES)
        PARTS_MAX.times do
          got = io.read_nonblock(PART_BYTES, part, exception: false)
          return if got.nil? || got == :wait_readable
        end
      end
    end

    # What a server accepts.
    module Accepts
      def accept(...)
        Accepts.spare(super)
      end

      def accept_nonblock(...)
        Accepts.spare(super)
      end

      # @param accepted [BasicSocket, Array, Symbol] Socket's gives the address, too; :wait_readable
      # @return the same
      def self.spare(accepted)
        socket = accepted.is_a?(Array) ? accepted.first : accepted
        Sockets.spare(socket) if socket.is_a?(BasicSocket)
        accepted
      end
    end

    ::TCPServer.prepend(Accepts)
    ::Socket.prepend(Accepts)
  end
end
