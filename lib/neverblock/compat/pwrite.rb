# frozen_string_literal: true

# Ruby 3.3 and later: IO#pwrite calls the hook io_pwrite without Ruby's lock (internal_pwrite_func in io.c): the process hangs or crashes. In a fiber it goes
# past the hooks and blocks the thread; IO::Buffer#pwrite calls the hook as it should.

module NeverBlock
  module Compat
    module Pwrite
      def pwrite(data, offset)
        return super unless Compat.scheduler

        Compat.blocking { super(data, offset) }
      end
    end

    IO.prepend(Pwrite)
  end
end
