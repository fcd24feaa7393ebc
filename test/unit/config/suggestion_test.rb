# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config/suggestion"

class SuggestionTest < Minitest::Test
  KNOWN = %w[fibers bind pidfile backlog].freeze

  {
    "fiberz" => "; did you mean fibers?",
    "pid" => "; did you mean pidfile?",
    "bnd" => "; did you mean bind?",
    "qwertz" => "",
    "" => "",
    "b" => ""
  }.each do |word, hint|
    define_method("test_for #{word.inspect} it says #{hint.inspect}") do
      assert_equal hint, NeverBlock::Suggestion.for(word, KNOWN)
    end
  end
end
