# frozen_string_literal: true

# allowblock and neverblock of controllers, as rules.
# test/integration/rails_test.rb has what they do while a request runs.

require_relative "../../support/unit"
require "action_controller"
require "neverblock"
require "neverblock/rails/action_modes"

class ActionModesTest < Minitest::Test
  def controller(parent = ActionController::Base, &block)
    Class.new(parent) do
      include NeverBlock::ActionModes unless self < NeverBlock::ActionModes
      class_eval(&block)
    end
  end

  def held(controller)
    %w[index export].select { |action| controller.neverblock_holds?(action) }
  end

  def test_names_are_held_and_others_not
    assert_equal %w[export], held(controller { allowblock :export, "report" })
    assert_empty held(controller { nil })
  end

  def test_without_names_all_are_held_but_those_taken_back
    assert_equal %w[index export], held(controller { allowblock })
    some = controller do
      allowblock
      neverblock :export
    end
    assert_equal %w[index], held(some)
  end

  def test_a_subclass_inherits_and_changes_nothing_above
    parent = controller { allowblock :export }
    assert_equal %w[export], held(controller(parent) { nil })
    assert_equal %w[index export], held(controller(parent) { allowblock :index })
    assert_empty held(controller(parent) { neverblock })
    assert_equal %w[export], held(parent)
  end

  def test_what_is_no_name_is_refused
    error = assert_raises(ArgumentError) { controller { allowblock only: :export } }
    assert_equal "an action is a name, such as :export; seen #{{ only: :export }.inspect}",
                 error.message
  end
end
