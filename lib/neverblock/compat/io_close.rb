# frozen_string_literal: true

# IO#close does not wake the fibers that wait for the IO, and epoll forgets a closed descriptor without a word: they would wait for ever. Bug #21166
# (4.0 interrupts them by fiber_interrupt, which makes this a second, harmless call). Threads get an IOError; so do fibers with this.

module NeverBlock
  module Compat
    module IOClose
      def close
        Scheduler.closing(self)
        super
      end
    end

    IO.prepend(IOClose)
  end
end
