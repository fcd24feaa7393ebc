# frozen_string_literal: true

require_relative "bench_case"

class BenchEnvironmentTest < BenchCase
  def test_a_variable_that_bundler_has_changed_is_as_it_was_before
    with_variables("GEM_HOME" => "/bundle", "BUNDLER_ORIG_GEM_HOME" => "/home", "GEM_PATH" => "",
                   "BUNDLER_ORIG_GEM_PATH" => Environment::NOTHING) do
      assert_equal ["/home", nil], [Environment.outer("GEM_HOME"), Environment.outer("GEM_PATH")]
      assert_equal "/home", Environment.clean["GEM_HOME"]
      refute Environment.clean.key?("GEM_PATH")
      assert Environment.kept.key?("GEM_PATH"), "a child that sees all of the caller's must lose it"
    end
  end

  def test_without_a_bundle_it_is_as_it_is
    with_variables("LANG" => "C.UTF-8", "BUNDLER_ORIG_LANG" => nil) do
      assert_equal "C.UTF-8", Environment.outer("LANG")
    end
  end

  def test_what_is_told_later_is_asked_then
    value = "first"
    later = -> { { "A" => value } }
    value = "second"
    assert_equal [{ "A" => "second" }, { "B" => "1" }],
                 [Environment.told(later), Environment.told({ "B" => "1" })]
  end

  private

  def with_variables(values)
    before = values.to_h { |name, _| [name, ENV.fetch(name, nil)] }
    ENV.update(values)
    yield
  ensure
    ENV.update(before)
  end
end
