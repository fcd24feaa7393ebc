# frozen_string_literal: true

require_relative "verbs_case"

# Errors begin where the user wrote something, and lead to who called.
class BacktracesTest < VerbsCase
  def job = NB.run { raise Failure }
  def outer = job

  # @return [Exception] what the block raises, raised on a thread without a loop
  def raised(kind = StandardError, &block)
    bounded { assert_raises(kind, &block) }
  end

  def names(error)
    error.backtrace.map { |place| place[/[`'](.*)'\z/, 1].sub(/[\w:]+#/, "") }
  end

  def refute_library(error)
    assert_empty error.backtrace.grep(%r{/lib/neverblock/})
  end

  def test_an_error_in_run_tells_who_called_it
    error = raised(Failure) { outer }
    assert_equal ["block in job", "job", "outer"], names(error).first(3)
    refute_library(error)
  end

  def test_one_after_a_wait_does_too
    error = raised(Failure) { NB.run { sleep(0) and raise Failure } }
    assert_includes error.backtrace.first, __FILE__
    assert_operator error.backtrace.grep(/#{__method__}/).size, :>, 1
    refute_library(error)
  end

  def test_a_deadline_has_no_frames_of_the_library
    in_loop = raised(NB::DeadlineExceeded) { NB.run { NB.deadline(0) { sleep } } }
    outside = raised(NB::DeadlineExceeded) { NB.deadline(0) { sleep } }
    tasks = raised(NB::DeadlineExceeded) { NB.run { NB.deadline(0) { NB.all(-> { sleep }) } } }
    [in_loop, outside, tasks].each do |error|
      assert_includes error.backtrace.first, __FILE__
      refute_library(error)
    end
  end

  def test_what_is_raised_where_the_loop_waits_begins_at_the_call
    error = raised(Interrupt) do
      thread = Thread.current
      NB.run { Thread.new { thread.raise(Interrupt) } and sleep }
    end
    assert_includes error.backtrace.first, __FILE__
    refute_library(error)
  end

  def test_errors_of_a_pool
    seen = []
    run_loop do
      pool = NB::FiberPool.new(1, queue: 1, on_error: ->(error) { seen << error })
      pool.spawn { raise Failure }
      pool.spawn { 3.times { pool.spawn { nil } } }
    end
    assert_equal [Failure, NB::Error], seen.map(&:class)
    seen.each do |error|
      assert_includes error.backtrace.first, __FILE__
      refute_library(error)
    end
  end

  def test_wrong_arguments_are_told_where_they_stand
    [-> { NB.deadline("2") { nil } }, -> { NB.deadline(1) }, -> { NB::FiberPool.new(0) },
     -> { NB::FiberPool.new.spawn { nil } }, -> { NB::FiberPool.new.spawn }, -> { NB.all(1) },
     -> { NB.all(limit: 0) }, -> { NB.run }, -> { NB.offload },
     -> { NB.offload(on_cancel: 1) { 1 } }, -> { NB.offload_threads = 0 },
     -> { NB.neverblock }, -> { NB.sleep("1") },
     -> { NB.carry(1) { nil } }, -> { NB.carry(:one) }, -> { NB.wait(:both, $stdin) },
     -> { NB::Bulkhead.new(0) }, -> { NB::Bulkhead.new(1, wait: "1") },
     -> { NB::Bulkhead.new(1).call }, -> { NB::CircuitBreaker.new("x", failures: 0) },
     -> { NB::CircuitBreaker.new("x", within: 0) }, -> { NB::CircuitBreaker.new("x").call },
     -> { NB::CircuitBreaker.new("x", errors: [1]) },
     -> { NB::Pool::FiberedConnectionPool.new },
     -> { NB::Pool::FiberedConnectionPool.new(size: 0) { 1 } },
     -> { NB::Pool::FiberedConnectionPool.new(timeout: "1") { 1 } },
     -> { NB::Pool::FiberedConnectionPool.new { 1 }.hold }].each do |wrong|
      error = raised(&wrong)
      assert_includes error.backtrace.first, __FILE__, error.message
    end
  end

  def test_a_fault_of_the_library_keeps_its_frames
    error = NoMethodError.new("x")
    library = "#{File.expand_path("../../../lib/neverblock", __dir__)}/scheduler.rb:1:in `x'"
    error.set_backtrace([library, "app.rb:1:in `app'", library])
    assert_equal [library, "app.rb:1:in `app'"], NeverBlock::Backtrace.trim(error).backtrace
  end

  def test_all_frames_are_kept_on_demand
    { "1" => "true", "0" => "false" }.each do |value, kept|
      script = "ENV['NB_DEBUG'] = '#{value}'; require 'neverblock'; " \
               "begin; NB.run { NB.deadline(0) { sleep } }; " \
               "rescue NB::Error => e; print e.backtrace.grep(/lib.neverblock/).any?; end"
      assert_equal [0, kept, ""], ruby(script)
    end
  end
end
