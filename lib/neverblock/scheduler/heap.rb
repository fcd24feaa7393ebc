# frozen_string_literal: true

# Room in Ruby's heap, for what requests leave behind and for many fibers that wait; and a small collection.
#
# An application that was just loaded leaves a fifth of its heap free: 50,000 slots of a Rails application. A request that makes a page of 60,000 rows
# collects that often, and walks all that is old, 40 ms, about once a second (370 collections in 7 s, nine of them of all objects; Ruby 3.1.2). With half
# as much again as is loaded it was 170 and none, for 3 MB, and 7 MB once requests have filled it. So a server makes that room once (Boot::Launch,
# Cluster::Worker).
#
# A collection walks the two stacks of every parked fiber, 7 us each: with a thousand of them that is 7 ms, and a heap with just enough room for the
# application's own objects collects after every sixty Net::HTTP requests (180 us of the 400 that one costs then). So the room grows with the
# fibers. The scheduler's loop asks for it, and for a collection when a request that has computed for long has left much (docs/guides/slices.md). Slots are filled in C
# (binding/state/heap.c).

module NeverBlock
  module Heap
    # Slots for each parked fiber: what a request allocates, several times over.
    SLOTS_A_FIBER = 300
    # Slots beside each object of the application: 4 MB for a Rails application of 200,000 objects. As many as objects do little more.
    SLOTS_AN_OBJECT = 0.5
    # With more fibers or objects the room no longer grows: 18 MB. A thousand fibers have 12 MB, or the most while there is a doubling ahead. Beside 5,000 fibers that wait,
    # a million slots take 4 KB a fiber more, and requests cost no less.
    SLOTS_MAX = 450_000
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
        make(fibers * SLOTS_A_FIBER)
      end

      # Makes room for what requests leave behind, by the number of objects that are there: to be called when the application has been loaded. Some 10 ms for 200,000.
      # @return [void]
      def make_room_beside_application
        make((GC.stat(:heap_live_slots) * SLOTS_AN_OBJECT).to_i)
      end

      # Collects what is young, swept bit by bit as it is needed; nothing where the application has disabled collections. When: binding/state/heap.c.
      # @return [void]
      def collect_young
        disabled = GC.enable
        return GC.disable if disabled

        GC.start(full_mark: false, immediate_mark: false, immediate_sweep: false)
      end

      # @!method fill(count, elements, every)
      #   Makes so many arrays that fit their slots, while the caller has collections disabled.
      #   @return [Array] every so many-th of them

      # @!method count_malloc(bytes)
      #   Has Ruby count as if so many bytes had been allocated beside its objects (rb_gc_adjust_memory_usage).
      #   @param bytes [Integer]
      #   @return [nil]

      private

      # What was made before counts.
      def make(slots)
        wanted = [slots, SLOTS_MAX].min - @slots
        return unless wanted.positive?

        @slots += wanted
        enabled = !GC.disable
        shares.each { |size, share| @anchors << fill((wanted * share).to_i + free(size), (size - ARRAY_HEADER) / 8, ANCHOR_EVERY) }
      ensure
        GC.enable if enabled
      end

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
