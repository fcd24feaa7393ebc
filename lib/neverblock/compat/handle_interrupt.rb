# frozen_string_literal: true

# Thread.handle_interrupt masks interrupts of the thread (thread.c, pending_interrupt_mask_stack). A
# fiber that waits in its block would mask those of all other fibers. Blocks that end in another
# order than they began would remove each other's masks.
#
# In a fiber that has time slices the mask is the fiber's own. No slice ends in a block that defers
# interrupts. What a block holds back by :never (a deadline, a Timeout, the leaving of a client) is
# not raised in its waits, and Fiber#raise neither where it holds back all. All Rubies.
#
# What was held back is raised where the block ends, or where one inside it says :immediate. A limit
# that is over by then would be lost if no wait followed.

module NeverBlock
  module Compat
    module HandleInterrupt
      TIMINGS = %i[immediate on_blocking never].freeze
      # A mask for one of these defers what ends a fiber's waits.
      ALL = [Object, Exception].freeze
      HELD = { Object => :never }.freeze
      # Ruby's own. A Ractor may not read it, and has no scheduler.
      RUBYS = Thread.method(:handle_interrupt)
      private_constant :TIMINGS, :ALL, :HELD, :RUBYS

      def handle_interrupt(mask, &block)
        scheduler = Compat.scheduler
        return super unless scheduler && block && HandleInterrupt.sound?(mask)

        scheduler.after_mask { HandleInterrupt.masking(scheduler, mask, &block) }
      end

      # @return [Boolean] whether something was raised that a mask holds back
      def pending_interrupt?(*kinds)
        super || HandleInterrupt.pending?(*kinds)
      end

      class << self
        # Calls the block, in which nothing is raised. For code of ours that changes several things
        # at once. Its end is no place where a limit raises: the application has not asked for one.
        def undisturbed(&block)
          scheduler = Compat.scheduler
          scheduler ? masking(scheduler, HELD, &block) : Thread.handle_interrupt(HELD, &block)
        end

        # @return [Boolean] whether Ruby would accept the mask
        def sound?(mask)
          return false unless mask.is_a?(Hash)

          mask.all? { |kind, timing| kind.is_a?(Module) && TIMINGS.include?(timing) }
        end

        # @param kind [Module] of what the application sees
        # @return [Boolean] whether a limit of the current fiber has something of it to raise
        def pending?(kind = BasicObject)
          made = Compat.scheduler&.pending_classes or return false
          made.any? { |one| stand_ins.fetch(one, one) <= kind }
        end

        def masking(scheduler, mask, &block)
          return within(scheduler, mask, &block) if scheduler.slice_ms

          RUBYS.call(mask) { holding(scheduler, mask, &block) }
        end

        private

        def within(scheduler, mask, &block)
          masked = mask.each_value.any? { |timing| timing != :immediate }
          scheduler.masked(masked) do
            mode = shield_mode(scheduler, mask)
            next holding(scheduler, mask, &block) if mode == scheduler.shield_mode

            scheduler.shield(mode) { holding(scheduler, mask, &block) }
          end
        end

        # A mask that lets a class in takes away the shield of another mask, which goes on to hold
        # back the other classes. The application's own shield stays.
        def shield_mode(scheduler, mask)
          outer = scheduler.shield_mode
          return outer if outer && outer != :mask
          return :mask if mask.values_at(*ALL).compact.last == :never

          outer if mask.each_value.all?(:never)
        end

        def holding(scheduler, mask, &block)
          scheduler.hold_back(with_stand_ins(mask), mask.value?(:immediate), &block)
        end

        # What is raised here stands for what the application sees.
        def stand_ins
          { **TimeoutError.stand_in, Deadline => DeadlineExceeded }
        end

        def with_stand_ins(mask)
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
