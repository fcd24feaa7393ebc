# frozen_string_literal: true

require "minitest/autorun"
require "neverblock/boot/heap"

class BootHeapTest < Minitest::Test
  def test_the_heap_has_room_in_proportion_to_the_fibers
    NeverBlock::Boot::Heap.warm(1024)
    assert_operator GC.stat(:heap_available_slots) - GC.stat(:heap_live_slots), :>, 1024 * NeverBlock::Boot::Heap::SLOTS_A_FIBER / 2
  end

  def test_however_many_fibers_the_room_has_an_end
    before = GC.stat(:total_allocated_objects)
    NeverBlock::Boot::Heap.warm(100_000_000)
    assert_operator GC.stat(:total_allocated_objects) - before, :<, NeverBlock::Boot::Heap::SLOTS_MAX * 2
  end
end
