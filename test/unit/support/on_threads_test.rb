# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/on_threads/comparison"

class OnThreadsComparisonTest < Minitest::Test
  Program = Struct.new(:name, :questions)

  # Answers as the block says, of the kind of server and the number of hogs.
  class Asked < OnThreads::Comparison
    def initialize(&answer)
      super(site: nil, bundle: nil, clients: 1, service: nil, rounds: 1)
      @answer = answer
    end

    def run(kind, programs, hogs: nil)
      programs.to_h do |program|
        answers = { 0 => [200, [], @answer.call(kind, hogs)] }
        [program.name, OnThreads::Found.new(answers: answers, before: {}, after: {}, errors: [])]
      end
    end
  end

  def test_what_differs_on_threads_beside_as_many_hogs_is_the_hogs_doing
    differences, unsteady = of { |kind, hogs| kind == :puma && hogs.nil? ? "calm" : "beside hogs" }
    assert_empty differences
    assert_equal [:puma], unsteady.map(&:mode)
  end

  def test_what_threads_answer_beside_hogs_too_differs
    differences, unsteady = of { |kind, _| kind == :puma ? "on threads" : "ours" }
    assert_equal [:hogs], differences.map(&:mode)
    assert_empty unsteady
  end

  private

  def of(&answer)
    Asked.new(&answer).of([Program.new("one", nil)], [:hogs])
  end
end
