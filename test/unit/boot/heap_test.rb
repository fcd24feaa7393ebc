# frozen_string_literal: true

require "minitest/autorun"
require "neverblock/boot/heap"

class BootHeapTest < Minitest::Test
  def test_what_is_loaded_is_old_and_small_collections_pass_it_by
    NeverBlock::Boot::Heap.warm # what other tests have left is gone
    before = GC.stat(:old_objects)
    loaded = Array.new(200_000) { Object.new } # beside which the rest of the process does not count
    NeverBlock::Boot::Heap.warm
    assert_operator GC.stat(:old_objects) - before, :>, loaded.size / 2
  end
end
