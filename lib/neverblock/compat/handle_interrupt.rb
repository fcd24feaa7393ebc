# frozen_string_literal: true

# Thread.handle_interrupt(... => :never or :on_blocking) says that its block must not be left where nobody expects it: neither is it by the end of a time slice. What
# it masks is the thread's and not the fiber's (thread.c, pending_interrupt_mask_stack), so another fiber would run under the mask of this one. A block
# in it that takes everything at once (=> :immediate) may be left again. All Rubies; nothing where there are no slices.

module NeverBlock
  module Compat
    module HandleInterrupt
      def handle_interrupt(mask, &block)
        scheduler = Compat.scheduler
        return super unless scheduler&.slice_ms && block && mask.is_a?(Hash)

        masked = mask.each_value.any? { |timing| timing != :immediate }
        scheduler.masked(masked) { super(mask, &block) }
      end
    end

    Thread.singleton_class.prepend(HandleInterrupt)
  end
end
