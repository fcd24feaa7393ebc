# frozen_string_literal: true

# Thread.handle_interrupt masks interrupts of the thread (thread.c, pending_interrupt_mask_stack). A
# fiber that waits in its block would mask those of all other fibers. Blocks that end in another
# order than they began would remove each other's masks.
#
# In a fiber that has time slices the mask is the fiber's own. No slice ends in a block that defers
# interrupts. What a block holds back by :never (a deadline, a Timeout, the leaving of a client) is
# not raised in its waits, and Fiber#raise neither where it holds back all. All Rubies.

module NeverBlock
  module Compat
    module HandleInterrupt
      TIMINGS = %i[immediate on_blocking never].freeze
      # A mask for one of these defers what ends a fiber's waits.
      ALL = [Object, Exception].freeze
      private_constant :TIMINGS, :ALL

      def handle_interrupt(mask, &block)
        scheduler = Compat.scheduler
        return super unless scheduler && block && HandleInterrupt.sound?(mask)
        return HandleInterrupt.within(scheduler, mask, &block) if scheduler.slice_ms

        super(mask) { HandleInterrupt.holding(scheduler, mask, &block) }
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
          scheduler.masked(masked) do
            next holding(scheduler, mask, &block) if all.nil? || all == :on_blocking

            scheduler.shield(all == :never) { holding(scheduler, mask, &block) }
          end
        end

        def holding(scheduler, mask, &block)
          scheduler.hold_back(with_stand_ins(mask), &block)
        end

        private

        # What is raised here stands for what the application sees.
        def with_stand_ins(mask)
          stand_ins = { **TimeoutError.stand_in, Deadline => DeadlineExceeded }
          stand_ins.each do |made, seen|
            kind = seen.ancestors.find { |one| mask.key?(one) }
            mask = { **mask, made => mask[kind] } if kind
          end
          mask
        end
      end
    end

    Thread.singleton_class.prepend(HandleInterrupt)
  end
end
