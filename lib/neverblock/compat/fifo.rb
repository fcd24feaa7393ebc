# frozen_string_literal: true

# Before Ruby 3.4 opening a FIFO whose other end nobody has open waits in open(2), which has no hook (io.c, rb_sysopen; Feature #20876). In a fiber it is opened by
# a thread of its own, which ends with the wait when that is interrupted: such a wait may last for ever, and would keep one of NB.offload's threads.

module NeverBlock
  module Compat
    module Fifo
      # @return [Boolean] whether the name is that of a FIFO, in a fiber that may park
      def self.waits?(name)
        scheduler = Compat.scheduler
        scheduler && !name.is_a?(Integer) && !scheduler.pinned? && File.pipe?(name)
      rescue TypeError, ArgumentError
        false # Ruby says so too
      end

      # Calls the block on a thread of its own and parks until it has ended.
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

      # File.open, File.new, Kernel#open
      def initialize(*arguments, **options)
        Fifo.waits?(arguments.first) ? Fifo.apart { super } : super
      end

      # What opens, reads or writes, and closes.
      module AtOnce
        %i[read binread readlines write binwrite].each do |method|
          define_method(method) do |name, *arguments, **options|
            Fifo.waits?(name) ? Fifo.apart { super(name, *arguments, **options) } : super(name, *arguments, **options)
          end
        end
      end
    end

    File.prepend(Fifo)
    IO.singleton_class.prepend(Fifo::AtOnce)
  end
end
