# frozen_string_literal: true

# Rows of text as aligned columns: the first to the left, the others to the right.

module NeverBlock
  module Watch
    module Columns
      GAP = "  "

      module_function

      # @param rows [Array<Array<String>>]
      # @param least [Integer] characters of a column, at least
      # @return [Array<String>] a line for each
      def align(rows, least: 8)
        widths = rows.map(&:size).max.to_i.times.map { |index| [rows.map { |row| row[index].to_s.length }.max, least].max }
        rows.map { |row| row.each_with_index.map { |text, index| index.zero? ? text.ljust(widths[0]) : text.rjust(widths[index]) }.join(GAP).rstrip }
      end
    end
  end
end
