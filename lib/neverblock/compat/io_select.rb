# frozen_string_literal: true

# Ruby 3.1 has no hook for IO.select, which would block the thread. Feature #19060 (3.2).

module NeverBlock
  module Compat
    module IOSelect
      def select(readables = nil, writables = nil, exceptables = nil, timeout = nil)
        scheduler = Compat.scheduler
        return super unless scheduler

        scheduler.io_select(readables, writables, exceptables, timeout)
      end
    end

    # Kernel#select is private: a public one would hide method_missing from every object.
    module KernelSelect
      include IOSelect

      private :select
    end

    IO.singleton_class.prepend(IOSelect)
    Kernel.singleton_class.prepend(IOSelect)
    Kernel.prepend(KernelSelect)
  end
end
