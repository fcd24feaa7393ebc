# frozen_string_literal: true

require_relative "watch_case"
require_relative "../../support/observed_code"
require "neverblock/watch/advice"

# Code whose waits are known, and what is advised.
class WatchAdviceTest < WatchCase
  include ObservedCode

  def test_independent_waits_are_found
    advice = advice_of(<<~RUBY).first
      def show
        user = HTTP.get("/user")
        rates = HTTP.get("/rates", 0.2)
        [user, rates]
      end
    RUBY
    assert_equal("sequential", advice["kind"])
    assert_equal([2, 3], advice["lines"].map { |line| line["line"] })
    assert_in_delta(0.1, advice["saves_s"])
  end

  private

  def advice_of(source)
    Dir.mktmpdir do |folder|
      Advice.of(Advice.requests(ObservedCode.run(source, folder)))
    end
  end
end
