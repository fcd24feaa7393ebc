# frozen_string_literal: true

# Before Ruby 3.3.1 there is no io_write (Bug #19546, ruby/ruby#9792), and Ruby writes to a descriptor in blocking mode without asking whether there is room
# (io.c, internal_write_func): a full standard output stops the loop. In a fiber its room is waited for first; what a pipe that has room may still not take at
# once is written by another thread (NB.offload).

require "io/nonblock"
require "io/wait"

module NeverBlock
  module Compat
    module BlockingWrite
      # What a pipe that is writable takes without waiting (PIPE_BUF, pipe(7)).
      AT_ONCE_BYTES = 4096

      def write(*strings)
        return super unless Compat.scheduler && BlockingWrite.blocks?(self)

        strings = strings.map(&:to_s)
        return NeverBlock.offload { super(*strings) } if strings.sum(&:bytesize) > AT_ONCE_BYTES

        wait_writable
        super
      end

      # Sockets and what Ruby makes by IO.pipe and IO.popen do not block.
      def self.blocks?(io)
        !io.is_a?(BasicSocket) && !io.closed? && !io.nonblock? && !io.stat.file?
      rescue SystemCallError, IOError
        false # it is the write's to say
      end
    end

    IO.prepend(BlockingWrite)
  end
end
