# frozen_string_literal: true

# The programs of test/slow/unchanged_hunt_test.rb, as text.

require_relative "../../support/unit"
require_relative "../../slow/unchanged/known"
require_relative "../../slow/unchanged/program"

class HuntProgramsTest < Minitest::Test
  def test_each_habit_alone_is_a_rackup_file_without_marks
    UnchangedHunt.habits.each_value do |habit|
      text = UnchangedHunt::Site.text([UnchangedHunt::Program.single("p1", habit)])

      refute_match(/__(WAIT|BODY|N|T)__/, text, habit.name)
      assert RubyVM::InstructionSequence.compile(text), habit.name
    end
  end

  def test_a_seed_is_always_the_same_program
    assert_equal program(7).text, program(7).text
  end

  def test_smaller_programs_have_less_in_them_and_are_programs
    (0..40).map { |seed| program(seed) }.each do |one|
      assert_operator one.smaller.map(&:size).min, :<, one.size, one if one.size > 1
      one.smaller.each do |less|
        assert RubyVM::InstructionSequence.compile(UnchangedHunt::Site.text([less]))
      end
    end
  end

  def test_calmer_programs_wait_once_less
    one = (0..40).map { |seed| program(seed) }.find { |program| program.calmer.any? }

    assert_equal waits(one) - 1, waits(one.calmer.first)
  end

  def test_what_is_known_are_habits
    assert_empty UnchangedHunt::KNOWN.keys.flatten - UnchangedHunt.habits.keys
  end

  private

  def program(seed) = UnchangedHunt::Program.random("p0", Random.new(seed))

  def waits(program)
    program.steps.flat_map(&:all).flat_map(&:waits).count { |wait| wait != "nil" }
  end
end
