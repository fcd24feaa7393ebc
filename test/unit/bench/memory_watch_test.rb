# frozen_string_literal: true

require_relative "bench_case"

class BenchMemoryWatchTest < BenchCase
  # Answers the given sizes in turn, then the last for ever; tells a queue about each sample.
  class Sizes
    def initialize(*sizes, seen: Queue.new)
      @sizes = sizes
      @seen = seen
    end

    def pids
      @looked = @looked.to_i + 1
      [@looked]
    end

    def rss_bytes(pids)
      raise "not the tree's own processes" unless pids == [@looked]

      size = @sizes.size > 1 ? @sizes.shift : @sizes.first
      @seen << size
      size
    end
  end

  def test_the_highest_sample_is_kept_with_what_the_block_gave
    seen = Queue.new
    value, peak = MemoryWatch.new(Sizes.new(10, 70, 30, seen: seen), interval: 0.001).during do
      3.times { seen.pop }
      :done
    end
    assert_equal [:done, 70], [value, peak]
  end

  def test_processes_that_come_later_are_found
    seen = Queue.new
    tree = Sizes.new(1, seen: seen)
    MemoryWatch.new(tree, interval: 0.0001).during do
      ((MemoryWatch::SAMPLES_A_TREE * 2) + 2).times { seen.pop }
    end
    assert_operator tree.pids.first, :>=, 4
  end

  def test_a_block_that_ends_at_once_is_sampled_all_the_same
    assert_equal([nil, 5], MemoryWatch.new(Sizes.new(5), interval: 0.001).during { nil })
  end

  def test_an_error_passes_through_and_sampling_ends
    threads = Thread.list.size
    assert_raises(ArgumentError) do
      MemoryWatch.new(Sizes.new(5), interval: 0.001).during { raise ArgumentError }
    end
    assert_equal threads, Thread.list.size
  end
end
