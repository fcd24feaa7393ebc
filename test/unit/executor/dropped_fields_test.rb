# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/executor/dropped_fields"

class DroppedFieldsTest < Minitest::Test
  def setup
    @fields = NeverBlock::Executor::DroppedFields.new
  end

  def test_a_name_is_new_once_in_any_case
    assert(@fields.new?("X_Key"))
    refute(@fields.new?("x_kEY"))
  end

  def test_names_that_clients_choose_do_not_fill_the_log
    most = NeverBlock::Executor::DroppedFields::NAMES_MOST
    assert_equal most, Array.new(100) { |n| @fields.new?("x_#{n}") }.count(true)
  end
end
