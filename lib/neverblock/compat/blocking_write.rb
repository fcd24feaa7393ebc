# frozen_string_literal: true

# Before Ruby 3.3.1 there is no io_write (Bug #19546, ruby/ruby#9792). Ruby then writes to a
# descriptor in blocking mode without asking for room (io.c, internal_write_func), so that a full
# standard output stops the loop. Here a fiber waits for room first. A text that a pipe with room
# may not take at once is written by another thread (NB.offload). The scheduler is told of a socket
# that is written to (Sockets).

require "io/nonblock"
require "io/wait"

module NeverBlock
  module Compat
    module BlockingWrite
      # Bytes that a writable pipe takes without waiting (PIPE_BUF, pipe(7)).
      AT_ONCE_BYTES = 4096

      def write(*strings)
        scheduler = Compat.scheduler
        scheduler.note_use(self) if scheduler && is_a?(BasicSocket)
        return super unless scheduler && BlockingWrite.blocks?(self)

        strings = strings.map(&:to_s)
        return NeverBlock.offload { super(*strings) } if strings.sum(&:bytesize) > AT_ONCE_BYTES

        wait_writable
        super
      end

      # Sockets, and IOs made by IO.pipe and IO.popen, do not block.
      def self.blocks?(io)
        !io.is_a?(BasicSocket) && !io.closed? && !io.nonblock? && !io.stat.file?
      rescue SystemCallError, IOError
        false # the write itself raises it
      end
    end

    IO.prepend(BlockingWrite)
  end
end
