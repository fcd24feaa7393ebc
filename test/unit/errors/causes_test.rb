# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/errors/causes"

class CausesTest < Minitest::Test
  Causes = NeverBlock::Causes

  def test_the_error_comes_first_and_then_what_caused_it
    assert_equal %w[third second first], Causes.of(chain(%w[first second third])).map(&:message)
    assert_empty Causes.of(nil)
  end

  def test_a_long_chain_ends
    assert_equal Causes::MAX, Causes.of(chain(Array.new(100) { |number| number.to_s })).size
  end

  def test_a_ring_ends
    first = RuntimeError.new("first")
    second = RuntimeError.new("second")
    behind = { first => second, second => first }.compare_by_identity
    assert_equal [first, second], Causes.of(first) { |error| behind[error] }
  end

  def test_equal_errors_are_two
    assert_equal 2, Causes.of(chain(%w[same same])).size
  end

  def test_a_cause_that_raises_ends_the_chain
    error = RuntimeError.new("first")
    error.define_singleton_method(:cause) { raise "no cause" }
    assert_equal [error], Causes.of(error)
  end

  private

  def chain(messages)
    messages.inject(nil) { |cause, message| caught { raise RuntimeError, message, cause: cause } }
  end

  def caught
    yield
  rescue StandardError => e
    e
  end
end
