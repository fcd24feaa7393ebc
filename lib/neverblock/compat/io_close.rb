# frozen_string_literal: true

# IO#close does not wake the fibers that wait for the IO, and epoll forgets a closed descriptor without a word: they would wait for ever. Bug #21166
# (4.0 interrupts them by fiber_interrupt, which makes this a second, harmless call). Threads get an IOError; so do fibers with Scheduler::Closing
# (binding/hooks/closing.c). It is in C because Ruby's own close has to follow it at once.
#
# Ruby 3.4 has close(2) done on another thread where it can (blocking_operation_wait), whatever is closed: 50 to 100 us for each pipe and socket, which close
# at once, against 5, and a wait where none was. Files go there, their disk may be slow; these do not. 4.0 asks the hook io_close.

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

    IO.prepend(Scheduler::Closing)
  end
end
