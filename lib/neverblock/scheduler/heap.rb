# frozen_string_literal: true

# Room in Ruby's heap: free slots for what requests leave behind and for many fibers that wait.
#
# A freshly loaded application leaves a fifth of its heap free. A request that makes a large page
# then collects often, and each collection walks all old objects. So a server makes more room once
# (Boot::Launch, Cluster::Worker).
#
# A collection also walks the two stacks of every parked fiber. So the room grows with the number
# of fibers. The scheduler's loop asks for it, and for a small collection when a request that has
# computed for long has left much. docs/guides/slices.md has the figures. Slots are filled in C
# (binding/state/heap.c).

module NeverBlock
  module Heap
    # Slots for each parked fiber: several times what a request allocates.
    SLOTS_A_FIBER = 300
    # Slots for each object of the application: 4 MB for a Rails application of 200,000 objects.
    SLOTS_AN_OBJECT = 0.5
    # The most slots: 18 MB. More of them would cost memory for each fiber and save no time.
    SLOTS_MAX = 450_000
    # One object in so many stays, so that no page of the heap is ever empty: Ruby gives empty pages
    # back. A page has 400 slots on Ruby 3.1, and 1,600 later.
    ANCHOR_EVERY = 256
    # Bytes of an array's header. Its elements follow in the same slot when they fit.
    ARRAY_HEADER = 16

    @slots = 0
    @anchors = []

    class << self
      # Makes room once for each number of fibers; room that was made before counts. Takes some
      # 20 ms for a thousand fibers.
      # @param fibers [Integer] that wait at once
      # @return [void]
      def make_room(fibers)
        make(fibers * SLOTS_A_FIBER)
      end

      # Makes room for what requests leave behind, by the number of objects that exist. Call it when
      # the application has been loaded. Takes some 10 ms for 200,000 objects.
      # @return [void]
      def make_room_beside_application
        make((GC.stat(:heap_live_slots) * SLOTS_AN_OBJECT).to_i)
      end

      # Collects young objects, and sweeps lazily. Does nothing where the application has disabled
      # collections. binding/state/heap.c decides when.
      # @return [void]
      def collect_young
        disabled = GC.enable
        return GC.disable if disabled

        GC.start(full_mark: false, immediate_mark: false, immediate_sweep: false)
      end

      # @!method fill(count, elements, every)
      #   Makes `count` arrays of `elements` elements, which fit their slots. The caller has
      #   disabled collections.
      #   @return [Array] one of each `every` arrays

      # @!method count_malloc(bytes)
      #   Tells Ruby that so many bytes were allocated outside its heap (rb_gc_adjust_memory_usage).
      #   @param bytes [Integer]
      #   @return [nil]

      private

      # Room that was made before counts.
      def make(slots)
        wanted = [slots, SLOTS_MAX].min - @slots
        return unless wanted.positive?

        @slots += wanted
        enabled = !GC.disable
        shares.each do |size, share|
          count = (wanted * share).to_i + free(size)
          @anchors << fill(count, (size - ARRAY_HEADER) / 8, ANCHOR_EVERY)
        end
      ensure
        GC.enable if enabled
      end

      # Free slots are filled first, and no page is added for them.
      # @param size [Integer] bytes of a slot
      # @return [Integer] slots
      def free(size)
        unless GC.respond_to?(:stat_heap)
          return GC.stat(:heap_available_slots) - GC.stat(:heap_live_slots)
        end

        heap = GC.stat_heap.values.find { |one| one.fetch(:slot_size) == size }
        live = heap.values_at(:total_allocated_objects, :total_freed_objects)
        live.all? ? [heap.fetch(:heap_eden_slots) - live.first + live.last, 0].max : 0
      end

      # Ruby 3.2 and later have a heap for each size of slot. Each heap gets the share that it has
      # had of all objects so far.
      # @return [Hash{Integer => Float}] bytes of a slot => its share of the room
      def shares
        unless GC.respond_to?(:stat_heap)
          return { GC::INTERNAL_CONSTANTS.fetch(:RVALUE_SIZE) => 1.0 }
        end

        made = GC.stat_heap.values.to_h do |heap|
          [heap.fetch(:slot_size), heap.fetch(:total_allocated_objects, 1)]
        end
        made.transform_values { |count| count.fdiv(made.values.sum) }
      end
    end
  end
end
