# frozen_string_literal: true

# Tests that our parser reads as llhttp and node's server do, over every vector of
# test/c/http1/vectors.h and the fuzzers' corpora. Each difference is a row of
# differential/differences.yml, and each row still shows. See differential/README.md.

require_relative "../test_helper"
require_relative "differential/table"

class DifferentialTest < Minitest::Test
  Differential::Table::COLUMNS.each_key do |column|
    define_method("test_every_difference_to_#{column}_in_the_vectors_is_in_the_table_" \
                  "and_every_row_shows") do
      named = expected(column).reject { |_, names| names.empty? }
      found = actual(column, table.vectors)
      assert_equal({}, found.to_a.difference(named.to_a).to_h, "new differences to #{column}")
      assert_equal({}, named.to_a.difference(found.to_a).to_h,
                   "differences to #{column} in the table that are gone")
    end

    define_method("test_every_difference_to_#{column}_in_the_corpora_is_in_the_table_" \
                  "and_every_row_shows") do
      found = actual(column, table.corpus)
      unknown = found.except(*expected(column).keys)
      assert_equal({}, unknown.transform_values { |names| names.first(3) },
                   "new differences to #{column}")
      gone = expected(column).select { |_, names| names.empty? }.keys - found.keys
      assert_empty gone,
                   "differences to #{column} in the table, from the corpora alone, that are gone"
    end
  end

  def test_every_row_says_where_it_stands_written_and_why_we_are_right
    table.rows.each do |row|
      assert_equal %w[ours llhttp node rfc why inputs], row.keys
      assert_match(/RFC \d{4} \d/, row["rfc"], row["ours"])
      assert_operator row["why"].size, :>, 30, row["ours"]
      assert_empty row["inputs"] - table.vectors.keys, "no such vector"
    end
  end

  def test_enough_is_compared
    assert_operator table.vectors.size, :>, 250
    assert_operator table.corpus.size, :>, 300
  end

  private

  # One table for the run: building the probe and reading take seconds.
  def table
    @@table ||= Differential::Table.new
  rescue Differential::Missing => e
    skip e.message
  end

  def actual(column, inputs)
    table.actual(column, inputs)
  rescue Differential::Missing => e
    skip e.message
  end

  def expected(column)
    table.expected(column)
  end
end
