# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "open3"
require "rbconfig"

# Tests room in Ruby's heap, beside an application and for many parked fibers. Each test runs in a
# process of its own, because room stays.
class SchedulerHeapTest < Minitest::Test
  FREE = "free = -> { GC.start; GC.stat(:heap_available_slots) - GC.stat(:heap_live_slots) }"
  IN_SLICE = "def in_slice(&computes) = NB.run { " \
             "Fiber.scheduler.slice_ms = 1 and Fiber.schedule { sleep(0) && computes.call } }"
  # The main thread's fibers are looked at, and never left.
  LOOKED_AT = "def be_looked_at = (missed = Fiber.scheduler.preemptions_missed) && " \
              "Fiber.scheduler.end_timeslice && " \
              "(nil until Fiber.scheduler.preemptions_missed > missed)"

  def test_many_parked_fibers_have_room_in_the_heap_that_stays
    assert_equal "true true", script(<<~RUBY)
      before = free.call
      gate = Queue.new
      NB.run do
        1000.times { Fiber.schedule { gate.pop } }
        sleep(0.001)
        gate.close
      end
      after = free.call
      print after - before > 200_000, " ",
            NB::Heap.make_room(1000).nil? && (free.call - after).abs < 50_000
    RUBY
  end

  # There is room for 128 fibers before any is made.
  def test_there_is_no_room_where_address_space_is_short
    assert_equal "true", script(<<~RUBY)
      gate = Queue.new
      NB.run do
        120.times { Fiber.schedule { gate.pop } }
        sleep(0.001)
        before = free.call
        taken = File.read("/proc/self/status")[/VmSize:\\s+(\\d+) kB/, 1].to_i * 1024
        Process.setrlimit(:AS, taken + (100 << 20))
        20.times { Fiber.schedule { gate.pop } }
        sleep(0.001)
        print (free.call - before).abs < 50_000
        gate.close
      end
    RUBY
  end

  def test_an_application_has_half_as_much_again_that_stays_and_is_made_once
    assert_equal "true true", script(<<~RUBY)
      loaded = Array.new(500_000) { Object.new }
      before = free.call
      NB::Heap.make_room_beside_application
      after = free.call
      NB::Heap.make_room_beside_application
      print after - before > loaded.size * 0.4, " ", (free.call - after).abs < 100_000
    RUBY
  end

  def test_room_beside_an_application_counts_for_its_fibers
    assert_equal "true", script(<<~RUBY)
      loaded = Array.new(700_000) { Object.new }
      NB::Heap.make_room_beside_application
      before = free.call
      NB::Heap.make_room(1000)
      print loaded.size && (free.call - before).abs < 50_000
    RUBY
  end

  def test_few_fibers_have_none
    assert_equal "true", script(<<~RUBY)
      before = free.call
      NB.run { 100.times { Fiber.schedule { sleep(0.001) } } }
      print (free.call - before).abs < 50_000
    RUBY
  end

  def test_room_has_an_end
    assert_equal "true", script(<<~RUBY)
      NB::Heap.make_room(10_000_000)
      print GC.stat(:heap_available_slots) < NB::Heap::SLOTS_MAX * 1.5
    RUBY
  end

  def test_collections_are_as_the_program_has_set_them
    assert_equal "false true", script(<<~RUBY)
      NB::Heap.make_room(10)
      print GC.enable, " "
      GC.disable
      NB::Heap.make_room(1000)
      print GC.enable
    RUBY
  end

  def test_what_a_computation_allocates_beside_its_objects_is_not_counted
    assert_equal "true", script(<<~RUBY)
      in_slice do
        NB::Heap.make_room(300)
        GC.start
        be_looked_at
        before = GC.count
        kept = Array.new(10_000) { "x" * 800 }
        limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + #{Patience::SECONDS}
        nil until GC.stat(:malloc_increase_bytes) < 4_000_000 ||
                  Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
        print kept && GC.stat(:malloc_increase_bytes) < 4_000_000 && GC.count == before
      end
    RUBY
  end

  def test_what_is_read_in_large_pieces_is_counted
    assert_equal "true", script(<<~RUBY)
      in_slice do
        GC.start
        be_looked_at
        pieces = Array.new(500) { "x" * 16_384 }
        be_looked_at
        print pieces && GC.stat(:malloc_increase_bytes) > 7_000_000
      end
    RUBY
  end

  def test_what_is_not_counted_has_an_end
    assert_equal "true", script(<<~RUBY)
      in_slice do
        before = GC.count
        megabytes = 0
        while (megabytes += 1) < 1000 && GC.count == before
          Array.new(1250) { "x" * 800 } && 5000.times { nil }
        end
        print megabytes < 500
      end
    RUBY
  end

  private

  def script(source)
    lib = File.expand_path("../../../lib", __dir__)
    program = [FREE, IN_SLICE, LOOKED_AT, source].join("\n")
    output, status = Open3.capture2e({ "RUBYOPT" => nil }, RbConfig.ruby, "-I", lib,
                                     "-rneverblock", "-e", program)
    assert_predicate status, :success?, output
    output
  end
end
