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

  def test_what_large_strings_may_take_is_raised_before_the_application_is_loaded_and_when_it_is
    first, prepared, warmed = limits
    assert_operator prepared, :>, first * 3
    assert_operator warmed, :>, prepared
  end

  def test_what_the_environment_says_of_that_stays
    assert_equal [20_000_000], limits("RUBY_GC_OLDMALLOC_LIMIT" => "20000000").uniq
  end

  private

  # Of a new process: in bytes, at first, before it would load an application, and after.
  def limits(environment = {})
    code = <<~RUBY
      require "neverblock/boot/heap"
      limit = -> { p GC.stat(:oldmalloc_increase_bytes_limit) }
      limit.call
      NeverBlock::Boot::Heap.prepare
      limit.call
      NeverBlock::Boot::Heap.warm
      limit.call
    RUBY
    command = [RbConfig.ruby, "-I", File.expand_path("../../../lib", __dir__), "-e", code]
    IO.popen([environment, *command], &:readlines).map(&:to_i)
  end
end
