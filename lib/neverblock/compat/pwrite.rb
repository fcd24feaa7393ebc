# frozen_string_literal: true

# Ruby 3.3 and later: IO#pwrite calls the hook io_pwrite without Ruby's lock (internal_pwrite_func
# in io.c), and the process hangs or crashes. Before 3.3 neither it nor IO#pread has a hook. Here,
# in a fiber, they bypass the hooks and run on another thread (NB.offload). IO::Buffer#pwrite calls
# the hook correctly.

module NeverBlock
  module Compat
    module Pwrite
      def pwrite(data, offset)
        return super unless Compat.scheduler

        text = data.to_s
        NeverBlock.offload { super(text, offset) }
      end
    end

    module Pread
      def pread(*)
        Compat.scheduler ? NeverBlock.offload { super } : super
      end
    end

    IO.prepend(Pwrite)
    IO.prepend(Pread) if RUBY_VERSION < "3.3"
  end
end
