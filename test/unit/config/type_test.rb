# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config/catalog"
require "pathname"

class TypeTest < Minitest::Test
  Type = NeverBlock::Config::Type

  READS = [
    [Type::Whole.new(1..100), 7, 7], [Type::Whole.new(1..100), "100", 100],
    [Type::Seconds.new(0.001..60), 10, 10], [Type::Seconds.new(0.001..60), 0.25, 0.25],
    [Type::Seconds.new(0.001..60), "2.5", 2.5],
    [Type::Choice.new(:text, :json), :json, :json], [Type::Choice.new(:text, :json), "text", :text],
    [Type::Flag.new, true, true], [Type::Flag.new, "no", false], [Type::Flag.new, "1", true],
    [Type::Either.new(Type::Flag.new, Type::Choice.new(:json)), :json, :json],
    [Type::Switch.new(:always), "yes", true], [Type::Switch.new(:always), "always", :always],
    [Type::Switch.new(:always), false, false],
    [Type::Either.new(Type::Whole.new(1..2), Type::Nothing.new), nil, nil],
    [Type::FilePath.new, "a/b", "a/b"], [Type::FilePath.new, Pathname("a/b"), "a/b"]
  ].freeze

  READS.each do |type, given, value|
    define_method("test_#{type.class.name[/\w+\z/]} reads #{given.inspect} as #{value.inspect}") do
      value.nil? ? assert_nil(type.read(given, "it")) : assert_equal(value, type.read(given, "it"))
    end
  end

  REFUSES = [
    [
      Type::Whole.new(1..100), [0, 101, 1.5, "x", "", "-1", "1e1", nil, true, "9" * 30],
      "a whole number from 1 to 100"
    ],
    [
      Type::Seconds.new(0.001..60),
      [0, -1, 61, "soon", "1 s", nil, Float::NAN, Float::INFINITY, Complex(1, 1)],
      "a number of seconds from 0.001 to 60"
    ],
    [Type::Choice.new(:text, :json), [:xml, "", nil, 1, Object], "text or json"],
    # :true is a slip worth telling.
    [Type::Flag.new, [nil, 1, "on", :true], "true or false"], # rubocop:disable Lint/BooleanSymbol
    [Type::Switch.new(:always), [nil, "", :never, 1], "true or false or :always"],
    [
      Type::Either.new(Type::Whole.new(1..2), Type::Choice.new(:auto)), [3, :automatic, nil],
      "a whole number from 1 to 2, or auto"
    ],
    [Type::FilePath.new, ["", "a\0b", 7, nil], "a path"],
    [Type::Address.new, [7, nil, :http], "http://HOST:PORT"]
  ].freeze

  REFUSES.each do |type, values, words|
    values.each do |value|
      kind = type.class.name[/\w+\z/]
      define_method("test_#{kind} refuses #{value.inspect[0, 20]} and says what is allowed") do
        error = assert_raises(NeverBlock::ConfigError) { type.read(value, "it") }
        assert_includes error.message, "it must be #{words}"
        assert_includes error.message, "got #{value.inspect}"[0, 60]
      end
    end
  end

  def test_a_value_that_is_pages_long_is_cut
    error = assert_raises(NeverBlock::ConfigError) { Type::Flag.new.read("x" * 10_000, "it") }
    assert_operator error.message.length, :<, 150
  end
end
