# frozen_string_literal: true

# IO#close does not wake the fibers that wait for the IO, and epoll drops a closed descriptor
# without an event: they would wait forever. Bug #21166. Ruby 4.0 interrupts them by
# fiber_interrupt; this is then a second call without an effect. Threads get an IOError, and here
# fibers do too. The same holds for #close_read and #close_write where they close the descriptor,
# and for #reopen, which puts another file under it.
# Scheduler::Closing and HalfClosing do this in C (binding/hooks/closing.c), as Ruby's own close
# must follow at once.
#
# Ruby 3.4 has another thread call close(2) where it can (blocking_operation_wait), whatever is
# closed. That is slower for pipes and sockets, which close at once, and it adds a wait. Here only
# files, whose disk may be slow, go to another thread. 4.0 calls the hook io_close.

require "socket"

module NeverBlock
  module Compat
    # Ruby 3.4
    module IOCloseAtOnce
      def close
        scheduler = Compat.scheduler
        return super unless scheduler && Scheduler.closes_at_once?(self)

        scheduler.at_once { super }
      end
    end

    IO.prepend(IOCloseAtOnce) if RUBY_VERSION.start_with?("3.4")

    IO.prepend(Scheduler::Closing, Scheduler::HalfClosing)
    BasicSocket.prepend(Scheduler::HalfClosing)
  end
end
