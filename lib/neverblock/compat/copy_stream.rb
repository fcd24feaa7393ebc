# frozen_string_literal: true

# IO.copy_stream reads and writes by itself, in C without Ruby's lock, and asks the scheduler only when a descriptor says EAGAIN (copy_stream_body in io.c):
# a pipe or terminal in blocking mode - standard input, a FIFO that was opened by name - stops the loop. In a fiber such an IO is given as an object with
# readpartial or write, as a StringIO would be, and these wait by the hooks.
#
# Ruby 3.4 and later give all of it to blocking_operation_wait, to be done on another thread; there, on EAGAIN, it calls the hooks of the scheduler it came
# from (nogvl_wait_for in io.c asks for the scheduler of the thread that began), and fibers are resumed on the wrong thread. So there every IO that can say
# EAGAIN is given so, which costs sendfile(2) from file to socket; from file to file it goes to the other thread.

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
          written += io.nonblock? ? io.syswrite(bytes.byteslice(written..)) : write_some(bytes.byteslice(written, AT_ONCE_BYTES)) while written < bytes.bytesize
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

        source = Source.new(source) if offset.nil? && CopyStream.stops?(source)
        target = Target.new(target) if CopyStream.stops?(target)
        super(source, target, length, *offset)
      end

      # @return [Boolean] whether the loop would be stopped by waiting for this IO
      def self.stops?(io)
        io.is_a?(IO) && !io.closed? && !io.stat.file? && (RUBY_VERSION >= "3.4" || !io.nonblock?)
      end
    end

    IO.singleton_class.prepend(CopyStream)
  end
end
