# frozen_string_literal: true

# Aligns rows of text in columns: the first column to the left, the others to the right, unless told
# otherwise.

module NeverBlock
  module Watch
    module Columns
      GAP = "  "

      module_function

      # @param rows [Array<Array<String>>]
      # @param least [Integer] smallest width of a column, in characters
      # @param left [Array<Integer>] columns of text, which begin at their left
      # @return [Array<String>] a line for each row
      def align(rows, least: 8, left: [0])
        widths = Array.new(rows.map(&:size).max.to_i) do |index|
          [rows.map { |row| row[index].to_s.length }.max, least].max
        end
        rows.map { |row| line(row, widths, left) }
      end

      def line(row, widths, left)
        cells = row.each_with_index.map do |text, index|
          left.include?(index) ? text.ljust(widths[index]) : text.rjust(widths[index])
        end
        cells.join(GAP).rstrip
      end
      private_class_method :line
    end
  end
end
