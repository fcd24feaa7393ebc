# frozen_string_literal: true

# Before Ruby 3.4, opening a FIFO whose other end is not open waits in open(2), which has no hook
# (io.c, rb_sysopen; Feature #20876). Here, in a fiber, a thread of its own opens it, and ends when
# the wait is interrupted. Such a wait may last forever, and would use up a thread of NB.offload's.

module NeverBlock
  module Compat
    module Fifo
      # @return [Boolean] whether it is a FIFO's name, in a fiber that may park
      def self.waits?(name)
        scheduler = Compat.scheduler
        scheduler && !name.is_a?(Integer) && !scheduler.pinned? && File.pipe?(name)
      rescue TypeError, ArgumentError
        false # Ruby itself raises for such a name
      end

      # Calls the block on a thread of its own, and parks until it has ended.
      # @return what the block returns
      def self.apart(&block)
        thread = Thread.new do
          Thread.current.report_on_exception = false
          block.call
        end
        thread.value
      ensure
        thread&.kill
      end

      private

      # Called by File.open, File.new and Kernel#open.
      def initialize(*arguments, **options)
        Fifo.waits?(arguments.first) ? Fifo.apart { super } : super
      end

      # Methods that open, read or write, and close. A Ractor cannot call methods made of blocks.
      module AtOnce
        %w[read binread readlines write binwrite].each do |method|
          module_eval(<<~RUBY, __FILE__, __LINE__ + 1)
            def #{method}(name, *arguments, **options)
              return super unless Fifo.waits?(name)

              SlowFiles.prepare(given = [name, *arguments], #{method.end_with?("write")})
              Fifo.apart { super(*given, **options) }
            end
          RUBY
        end
      end
    end

    File.prepend(Fifo)
    IO.singleton_class.prepend(Fifo::AtOnce)
  end
end
