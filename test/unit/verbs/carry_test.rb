# frozen_string_literal: true

require_relative "verbs_case"

# NB.carry: which verbs take along what the caller has, and that nothing stays behind.
class CarryTest < VerbsCase
  # As a library that keeps something for the fiber.
  module Kept
    class << self
      def now = Thread.current[:carry_test]

      def with(value)
        before = now
        Thread.current[:carry_test] = value
        yield
      ensure
        Thread.current[:carry_test] = before
      end
    end
  end

  def setup
    super
    NB.carry(:test) do
      kept = Kept.now
      kept && ->(&work) { Kept.with(kept, &work) }
    end
  end

  def teardown
    NB.carry(:test) { nil }
    super
  end

  def test_tasks_of_all_have_what_the_caller_has
    run_loop do
      Kept.with(1) { assert_equal([1, 1], NB.all(-> { Kept.now }, -> { sleep(0) && Kept.now })) }
      assert_equal([nil], NB.all(-> { Kept.now }))
    end
  end

  def test_tasks_of_all_without_a_loop
    bounded { Kept.with(2) { assert_equal([2], NB.all(-> { Kept.now })) } }
  end

  def test_offloaded_work
    run_loop do
      Kept.with(3) { assert_equal(3, NB.offload { NB.offload { Kept.now } }) }
      assert_nil(NB.offload { Kept.now })
    end
  end

  def test_break_leaves_offloaded_work_and_errors_come_back
    run_loop do
      Kept.with(1) do
        assert_equal(:left, NB.offload { break :left })
        error = assert_raises(ArgumentError) { NB.offload { raise ArgumentError, "x" } }
        assert_equal("x", error.message)
        assert_equal(:thrown, catch(:here) { NB.all(-> { throw(:here, :thrown) }) })
      end
    end
  end

  def test_scheduled_fibers_and_the_block_of_run
    seen = []
    bounded do
      Kept.with(4) do
        NB.run do
          seen << Kept.now
          Kept.with(5) { Fiber.schedule { sleep(0) && seen << Kept.now } }
        end
      end
    end
    assert_equal [4, 5], seen
  end

  # The first block's fiber takes the others out of the queue.
  def test_each_block_of_a_pool_has_what_its_own_caller_has
    seen = []
    pool = NB::FiberPool.new(1)
    run_loop do
      Kept.with(:a) { pool.spawn { sleep(0) && seen << Kept.now } }
      Kept.with(:b) { pool.spawn { seen << Kept.now } }
      pool.spawn { seen << Kept.now }
    end
    assert_equal [:a, :b, nil], seen
  end

  def test_a_fiber_that_the_caller_resumes_itself_has_nothing
    run_loop do
      Kept.with(1) do
        assert_nil(Fiber.new { Kept.now }.resume)
        assert_nil(Thread.new { Kept.now }.value)
      end
    end
  end

  def test_the_value_is_the_works_whatever_the_callable_returns
    NB.carry(:test) { ->(&work) { work.call && nil } }
    run_loop { assert_equal([7], NB.all(-> { 7 })) }
  end

  def test_a_callable_that_does_not_call_its_block
    run_loop do
      NB.carry(:test) { ->(&_work) {} }
      error = assert_raises(NB::Error) { NB.all(-> { 7 }) }
      assert_equal "the callable of NB.carry(:test) has not called its block", error.message
    end
  end

  def test_several_are_carried_and_a_name_is_there_once
    order = []
    NB.carry(:test) { raise "replaced" }
    NB.carry(:test) { ->(&work) { order << :test && work.call } }
    NB.carry(:test_too) { ->(&work) { order << :too && work.call } }
    run_loop do
      order.clear
      NB.all(-> { order << :work })
    end
    assert_equal %i[test too work], order.sort_by(&:to_s)
    assert_equal :work, order.last
  ensure
    NB.carry(:test_too) { nil }
  end

  def test_what_it_takes
    assert_raises(ArgumentError) { NB.carry(:name) }
    error = assert_raises(ArgumentError) { NB.carry("name") { nil } }
    assert_equal "NB.carry takes a name as a Symbol, got \"name\"", error.message
  end
end
