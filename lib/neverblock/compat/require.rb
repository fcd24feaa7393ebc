# frozen_string_literal: true

# Ruby 3.1: a `require` that parks its fiber loses it or crashes when another fiber requires the same file, and autoload from several fibers raises
# NameError. Bug #18663, fxn/zeitwerk#214. While a file is loading, what waits in it blocks the thread; autoload calls require, so it is covered.

module NeverBlock
  module Compat
    module Require
      def require(name)
        return super unless Compat.scheduler

        Compat.blocking { super(name) }
      end

      def load(name, wrap = false)
        return super unless Compat.scheduler

        Compat.blocking { super(name, wrap) }
      end
      private :require, :load
    end

    Kernel.prepend(Require)
  end
end
