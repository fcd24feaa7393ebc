# frozen_string_literal: true

require_relative "../support/unit"
require "neverblock"

class AlgorithmsTest < Minitest::Test
  Algorithms = NeverBlock::Algorithms

  def test_ruby_and_the_core_have_the_same_numbers
    numbers = NeverBlock::Engine.algorithms
    Algorithms::CORE.each { |name| assert_equal numbers.fetch(name.to_s), Algorithms.number(name) }
    assert_equal numbers.size, Algorithms.names.size
  end

  def test_what_is_no_address_is_refused
    [0, 3].each { |address| assert_raises(ArgumentError) { NeverBlock.add_algorithm(address) } }
    assert_raises(TypeError) { NeverBlock.add_algorithm("auto") }
    assert_equal Algorithms::CORE, Algorithms.names
  end
end
