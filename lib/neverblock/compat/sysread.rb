# frozen_string_literal: true

# Every Ruby to 4.0: IO#sysread and IO#syswrite wait as other methods do (for pipes too, whose
# descriptors do not block since 3.0). But once a scheduler has io_read and io_write they raise the
# hook's EAGAIN: io.c, rb_io_sysread and rb_io_syswrite do not wait after it. The hook cannot wait,
# because IO#read_nonblock calls it with the same arguments. The EAGAIN of the *_nonblock methods is
# of another class (IO::EAGAINWaitReadable).

module NeverBlock
  module Compat
    module Sysread
      def sysread(*arguments)
        super
      rescue Errno::EAGAIN
        raise unless Compat.scheduler

        wait_readable
        retry
      end

      def syswrite(*arguments)
        super
      rescue Errno::EAGAIN
        raise unless Compat.scheduler

        wait_writable
        retry
      end
    end

    IO.prepend(Sysread)
  end
end
