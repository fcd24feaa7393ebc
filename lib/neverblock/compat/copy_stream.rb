# frozen_string_literal: true

# IO.copy_stream reads and writes by itself, in C without Ruby's lock, and calls the scheduler only
# after EAGAIN (copy_stream_body in io.c). A pipe or terminal in blocking mode stops the loop:
# standard input, or a FIFO that was opened by name. Here, in a fiber, such an IO is passed as an
# object with readpartial or write, as a StringIO would be. These wait through the hooks.
#
# Ruby 3.4 and later pass all of it to blocking_operation_wait, to be done on another thread. After
# EAGAIN it calls, from there, the hooks of the scheduler of the thread that began (nogvl_wait_for
# in io.c), and fibers are resumed on the wrong thread. So there every IO that can return EAGAIN is
# passed as such an object. That costs sendfile(2) from file to socket. From file to file it still
# goes to the other thread.

require "io/nonblock"
require "io/wait"

module NeverBlock
  module Compat
    module CopyStream
      # An IO to read from, past copy_stream's own code.
      Source = Struct.new(:io) do
        def readpartial(...)
          io.readpartial(...)
        end
      end

      # Bytes that a writable pipe takes without waiting (PIPE_BUF, pipe(7)).
      AT_ONCE_BYTES = 4096

      # An IO to write to. It bypasses the IO's buffer and encodings, as copy_stream does.
      Target = Struct.new(:io) do
        def write(bytes)
          io.flush
          written = 0
          written += write_some(bytes, written) while written < bytes.bytesize
          written
        end

        private

        def write_some(bytes, written)
          return io.syswrite(bytes.byteslice(written..)) if io.nonblock?

          part = bytes.byteslice(written, AT_ONCE_BYTES)
          io.wait_writable
          io.syswrite(part)
        end
      end

      def copy_stream(source, target, length = nil, offset = nil)
        return super unless Compat.scheduler

        source = Source.new(source) if offset.nil? && CopyStream.stops?(source)
        target = Target.new(target) if CopyStream.stops?(target)
        super(source, target, length, *offset)
      end

      # @return [Boolean] whether waiting for this IO would stop the loop
      def self.stops?(io)
        io.is_a?(IO) && !io.closed? && !io.stat.file? && (RUBY_VERSION >= "3.4" || !io.nonblock?)
      end
    end

    IO.singleton_class.prepend(CopyStream)
  end
end
