# frozen_string_literal: true

# Thread.handle_interrupt masks interrupts of the thread (thread.c, pending_interrupt_mask_stack). A
# fiber that waits in its block would mask those of all other fibers. Blocks that end in another
# order than they began would remove each other's masks.
#
# In a fiber that has time slices the mask is the fiber's own. No slice ends in a block that defers
# interrupts. No deadline is raised in the waits of a block that defers all of them (:never). All
# Rubies.

module NeverBlock
  module Compat
    module HandleInterrupt
      TIMINGS = %i[immediate on_blocking never].freeze
      # A mask for one of these defers what ends a fiber's waits.
      ALL = [Object, Exception].freeze
      private_constant :TIMINGS, :ALL

      def handle_interrupt(mask, &block)
        scheduler = Compat.scheduler
        return super unless scheduler&.slice_ms && block && HandleInterrupt.sound?(mask)

        HandleInterrupt.within(scheduler, mask, &block)
      end

      class << self
        # @return [Boolean] whether Ruby would accept the mask
        def sound?(mask)
          return false unless mask.is_a?(Hash)

          mask.all? { |kind, timing| kind.is_a?(Module) && TIMINGS.include?(timing) }
        end

        def within(scheduler, mask, &block)
          masked = mask.each_value.any? { |timing| timing != :immediate }
          all = mask.values_at(*ALL).compact.last
          return scheduler.masked(masked) { block.call(nil) } if all.nil? || all == :on_blocking

          scheduler.masked(masked) { scheduler.shield(all == :never) { block.call(nil) } }
        end
      end
    end

    Thread.singleton_class.prepend(HandleInterrupt)
  end
end
