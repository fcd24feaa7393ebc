# frozen_string_literal: true

# Programs as data, in test/unit/watch/advice/*_cases.rb: what each waits for is known, and what
# `neverblock advise` ought to say.

class AdviceCases
  # lines: of the waits that could run together, or of the wait that repeats; nil: nothing is said.
  # also: lines that may be named with them. saves: seconds.
  Case = Struct.new(:name, :source, :lines, :also, :saves, keyword_init: true)

  include Enumerable

  def initialize
    @cases = []
  end

  def add(&cases)
    instance_eval(&cases)
  end

  def each(&) = @cases.each(&)

  private

  def case_of(name, source:, lines: nil, also: [], saves: nil)
    @cases << Case.new(name:, source:, lines:, also:, saves:)
  end
end
