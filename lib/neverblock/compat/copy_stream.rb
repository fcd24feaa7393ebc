# frozen_string_literal: true

# IO.copy_stream reads and writes by itself, in C without Ruby's lock, and asks the scheduler only when a descriptor says EAGAIN (copy_stream_body in io.c):
# a pipe or terminal in blocking mode - standard input, a FIFO that was opened by name - stops the loop. In a fiber such an IO is given as an object with
# readpartial or write, as a StringIO would be, and these wait by the hooks.

require "io/nonblock"
require "io/wait"

module NeverBlock
  module Compat
    module CopyStream
      Source = Struct.new(:io) do
        def readpartial(...)
          io.readpartial(...)
        end
      end

      # What a pipe that is writable takes without waiting (PIPE_BUF, pipe(7)).
      AT_ONCE_BYTES = 4096

      # Past the IO's buffer and encodings, as copy_stream writes.
      Target = Struct.new(:io) do
        def write(bytes)
          io.flush
          written = 0
          written += write_some(bytes.byteslice(written, AT_ONCE_BYTES)) while written < bytes.bytesize
          written
        end

        private

        def write_some(bytes)
          io.wait_writable
          io.syswrite(bytes)
        end
      end

      def copy_stream(source, target, length = nil, offset = nil)
        return super unless Compat.scheduler

        source = Source.new(source) if offset.nil? && CopyStream.blocking?(source)
        target = Target.new(target) if CopyStream.blocking?(target)
        super(source, target, length, *offset)
      end

      # @return [Boolean] whether reading or writing may stop the thread
      def self.blocking?(io)
        io.is_a?(IO) && !io.closed? && !io.nonblock? && !io.stat.file?
      end
    end

    IO.singleton_class.prepend(CopyStream)
  end
end
