# frozen_string_literal: true

require_relative "verbs_case"

# What the verbs say of arguments that they do not take.
class ArgumentsTest < VerbsCase
  def told(kind = ArgumentError, &block)
    assert_raises(kind, &block).message
  end

  def test_verbs_that_take_a_block_alone
    assert_equal "NB.run needs a block", told { NB.run }
    assert_equal "NB.run takes a block and no argument, got 5", told { NB.run(5) }
    assert_match(/NB.run takes a block alone, and got 5 too/, told { NB.run(5) { nil } })
    assert_match(/NB.offload takes a block .*: write NB.offload\(&it\)/, told { NB.offload(-> {}) })
    assert_match(/NB.run takes a block .*: write NB.run\(&it\)/, told { NB.run(-> {}) })
  end

  def test_a_keyword_that_is_near
    assert_equal "NB.all has no keyword limt: it takes limit:; did you mean limit?",
                 told { NB.all(-> { 1 }, limt: 5) }
    assert_match(/it takes queue:, on_error:; did you mean queue/,
                 told { NB::FiberPool.new(1, que: 5) })
    assert_match(/did you mean on_cancel/, told { NB.offload(oncancel: :wait) { nil } })
    assert_match(/did you mean wait/, told { NB::Bulkhead.new(1, wiat: 5) })
    assert_match(/did you mean failures/, told { NB::CircuitBreaker.new("x", failure: 5) })
    assert_match(/did you mean timeout/,
                 told { NB::Pool::FiberedConnectionPool.new(timout: 1) { 1 } })
    assert_match(/it takes limit:\z/, told { NB.all(pages: 5) })
  end

  def test_keywords_that_they_say_they_take
    assert NB::FiberPool.new(1, queue: 1, on_error: nil)
    assert NB::Bulkhead.new(1, queue: 1, wait: 1, name: "x")
    assert NB::CircuitBreaker.new("x", failures: 1, within: 1, open_for: 1, errors: [],
                                       on_change: nil)
    assert NB::Pool::FiberedConnectionPool.new(size: 1, eager: false, timeout: 1,
                                               disconnect: nil) { 1 }
  end

  def test_a_list_that_was_given_without_a_star
    assert_match(/; write NB.all\(\*list\)\z/, told(TypeError) { NB.all([-> { 1 }, -> { 2 }]) })
    assert_match(/; with a block it takes anything\z/, told(TypeError) { NB.all(1) })
  end

  def test_with_a_block_a_list_is_one_argument
    assert_equal([[1, 2]], bounded { NB.all([1, 2]) { |list| list } })
  end

  def test_what_has_to_be_callable
    assert_match(/on_error is something that can be called, or nil, not "x"/,
                 told { NB::FiberPool.new(on_error: "x") })
    assert_match(/on_change/, told { NB::CircuitBreaker.new("x", on_change: "x") })
    assert_match(/disconnect/, told { NB::Pool::FiberedConnectionPool.new(disconnect: 1) { 1 } })
  end

  def test_the_mode_of_neverblock
    assert_equal 'NB.neverblock takes true or false, got "x"', told { NB.neverblock("x") { nil } }
    assert_equal(1, NB.neverblock(nil) { 1 })
  end

  def test_seconds
    assert_equal 'NB.sleep takes seconds as a number, got "1"', told(TypeError) { NB.sleep("1") }
    assert_nil NB.sleep(-1)
  end

  def test_a_deadline_that_is_over_names_what_was_given
    [-> { NB.deadline(-1) { sleep } }, -> { NB.run { NB.deadline(-1) { sleep } } }].each do |late|
      error = bounded { assert_raises(NB::DeadlineExceeded, &late) }
      assert_equal "the deadline of -1.0 s (NB.deadline) has passed", error.message
    end
    bounded do
      assert_raises(NB::DeadlineExceeded) { NB.deadline(-Float::INFINITY) { sleep } }
      NB.run do
        assert_raises(NB::DeadlineExceeded) { NB.deadline(-Float::INFINITY) { sleep } }
        assert_equal(0.0, NB.deadline(-5) { NB.deadline })
      end
    end
  end
end
