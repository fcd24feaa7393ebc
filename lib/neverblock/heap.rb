# frozen_string_literal: true

# Room in Ruby's heap for many fibers that wait.
#
# A collection walks the two stacks of every parked fiber, 7 us each: with a thousand of them that is 7 ms, and a heap with just enough room for the
# application's own objects collects after every sixty Net::HTTP requests (180 us of the 400 that one costs then). So the room grows with the
# fibers. The scheduler's loop asks for it, and the slots are filled in C (binding/scheduler_heap.c).

module NeverBlock
  module Heap
    # Slots for each parked fiber: what a request allocates, several times over.
    SLOTS_A_FIBER = 300
    # With more fibers the room no longer grows: 40 MB. A thousand have 12 MB, or 24 while there is a doubling ahead.
    SLOTS_MAX = 1_000_000
    # One object in so many stays, so that no page of the heap (400 slots on Ruby 3.1, 1600 later) is ever empty: Ruby gives empty pages back.
    ANCHOR_EVERY = 256
    # Bytes of an array's header; what follows are its elements, in the same slot when they fit.
    ARRAY_HEADER = 16

    @slots = 0
    @anchors = []

    class << self
      # Makes room once for each number of fibers; what was made before counts. Some 20 ms a thousand fibers.
      # @param fibers [Integer] that wait at once
      # @return [void]
      def make_room(fibers)
        wanted = [fibers * SLOTS_A_FIBER, SLOTS_MAX].min - @slots
        return unless wanted.positive?

        @slots += wanted
        enabled = !GC.disable
        shares.each { |size, share| @anchors << fill((wanted * share).to_i + free(size), (size - ARRAY_HEADER) / 8, ANCHOR_EVERY) }
      ensure
        GC.enable if enabled
      end

      # @!method fill(count, elements, every)
      #   Makes so many arrays that fit their slots, while the caller has collections disabled.
      #   @return [Array] every so many-th of them

      private

      # What a collection has left free, room made earlier too, is filled first, and no page is added for it.
      # @param size [Integer] bytes of a slot
      # @return [Integer] slots
      def free(size)
        return GC.stat(:heap_available_slots) - GC.stat(:heap_live_slots) unless GC.respond_to?(:stat_heap)

        heap = GC.stat_heap.values.find { |one| one.fetch(:slot_size) == size }
        live = heap.values_at(:total_allocated_objects, :total_freed_objects)
        live.all? ? [heap.fetch(:heap_eden_slots) - live.first + live.last, 0].max : 0
      end

      # Ruby 3.2 and later have a heap for each size of slot. Each gets what it has had of all objects so far.
      # @return [Hash{Integer => Float}] bytes of a slot => its share of the room
      def shares
        return { GC::INTERNAL_CONSTANTS.fetch(:RVALUE_SIZE) => 1.0 } unless GC.respond_to?(:stat_heap)

        made = GC.stat_heap.values.to_h { |heap| [heap.fetch(:slot_size), heap.fetch(:total_allocated_objects, 1)] }
        made.transform_values { |count| count.fdiv(made.values.sum) }
      end
    end
  end
end
