# frozen_string_literal: true

require "ripper"
require "neverblock/watch/advice"
require_relative "../watch_case"
require_relative "../../../support/observed_code"
require_relative "dependent_cases"
require_relative "independent_cases"
require_relative "loop_cases"

# Programs whose waits are known, and what is advised of each.
class AdviceCasesTest < WatchCase
  AdviceCases::INDEPENDENT.each do |one|
    define_method("test_independent: #{one.name}") { assert_together(one, told(one, "sequential")) }
  end

  AdviceCases::INDEPENDENT.each do |one|
    define_method("test_code: #{one.name}") { assert_code(one, told(one, "sequential")) }
  end

  AdviceCases::DEPENDENT.each do |one|
    define_method("test_dependent: #{one.name}") { refute_told(one, told(one, "sequential")) }
  end

  AdviceCases::REPEATED.each do |one|
    define_method("test_repeated: #{one.name}") { assert_repeated(one, told(one, "repeated")) }
  end

  AdviceCases::NOT_REPEATED.each do |one|
    define_method("test_not_repeated: #{one.name}") { refute_told(one, told(one, "repeated")) }
  end

  def test_each_program_waits_often_enough_to_be_told
    { AdviceCases::INDEPENDENT => 2, AdviceCases::DEPENDENT => 2, AdviceCases::REPEATED => 5 }
      .each do |cases, least|
      cases.each { |one| assert_operator(waits_of(one), :>=, least, one.name) }
    end
  end

  def test_names_are_not_given_twice
    cases = [AdviceCases::INDEPENDENT, AdviceCases::DEPENDENT, AdviceCases::REPEATED,
             AdviceCases::NOT_REPEATED]
    cases.each { |each| assert_equal(each.map(&:name).uniq, each.map(&:name)) }
  end

  private

  def waits_of(one)
    Dir.mktmpdir do |folder|
      ObservedCode.run(one.source, folder)["requests"].sum { |request| request["waits"].size }
    end
  end

  def assert_together(one, advice)
    lines = lines_of(advice)
    assert_empty(one.lines - lines, "are not told to run together#{shown(one, advice)}")
    assert_empty(lines - one.lines - one.also, "cannot run with the others#{shown(one, advice)}")
    assert_in_delta(one.saves, advice.sum { |each| each["saves_s"] }, one.saves * 0.1,
                    "seconds are saved#{shown(one, advice)}")
  end

  # What is too long to be shown ends in dots.
  def assert_code(one, advice)
    codes = advice.flat_map { |each| each["code"].lines }.reject { |code| code.include?("...") }
    codes.each do |code|
      method = "def method\n#{code}\nend" # Ruby 3.3 takes yield there alone
      assert(Ripper.sexp(method), "is no Ruby: #{code}#{shown(one, advice)}")
    end
  end

  def assert_repeated(one, advice)
    assert_empty(one.lines - lines_of(advice), "are not told as repeated#{shown(one, advice)}")
  end

  def refute_told(one, advice)
    assert_empty(lines_of(advice), "are told#{shown(one, advice)}")
  end

  def told(one, kind)
    Dir.mktmpdir do |folder|
      requests = Advice.requests(ObservedCode.run(one.source, folder))
      Advice.of(requests).select { |each| each["kind"] == kind }
    end
  end

  def lines_of(advice)
    advice.flat_map { |each| each["lines"].map { |line| line["line"] } }.uniq
  end

  def shown(one, advice)
    numbered = one.source.lines.map.with_index(1) { |line, at| "#{at.to_s.rjust(3)} #{line}" }
    told = advice.map { |each| "#{each["title"]}; #{each["mend"]}; #{each["code"]}" }
    "\n#{one.name}\n#{numbered.join}told: #{told.join("\n")}\n"
  end
end
