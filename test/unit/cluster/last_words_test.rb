# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/cluster/last_words"

class ClusterLastWordsTest < Minitest::Test
  ENDS = {
    { signal: 9, code: nil } => "was killed by SIGKILL",
    { signal: 64, code: nil } => "was killed by SIG64",
    { signal: nil, code: 3 } => "has ended with status 3",
    { signal: nil, code: 0 } => "has ended by itself (status 0)",
    {} => "has ended in an unknown way",
    nil => "has ended in an unknown way"
  }.freeze

  COSTS = {
    {} => nil,
    { failed: 0, cut: 0, again: 0, lines: [] } => nil,
    { failed: 0, cut: 0, again: 2, lines: [] } => "of its requests 2 run elsewhere",
    { failed: 1, cut: 0, again: 0, lines: ["GET /a"] } => "it was running GET /a; 1 got 502",
    { failed: 2, cut: 1, again: 1, lines: %w[a b c] } =>
      "it was running a, b, c; 2 got 502, 1 was aborted in its response, 1 runs elsewhere",
    { failed: 40, cut: 0, again: 0, lines: %w[a b c d e] } =>
      "it was running a, b, c, d and 36 more; 40 got 502"
  }.freeze

  ENDS.each do |status, words|
    define_method("test_#{status.inspect} is #{words}") do
      assert_equal words, NeverBlock::Cluster::LastWords.ended(status)
    end
  end

  COSTS.each do |cost, words|
    define_method("test_#{cost.inspect} costs what it says") do
      words ? assert_equal(words, cost_of(cost)) : assert_nil(cost_of(cost))
    end
  end

  private

  def cost_of(cost)
    NeverBlock::Cluster::LastWords.cost(cost)
  end
end
