# frozen_string_literal: true

# Aligns rows of text in columns: the first column to the left, the others to the right.

module NeverBlock
  module Watch
    module Columns
      GAP = "  "

      module_function

      # @param rows [Array<Array<String>>]
      # @param least [Integer] smallest width of a column, in characters
      # @return [Array<String>] a line for each row
      def align(rows, least: 8)
        widths = Array.new(rows.map(&:size).max.to_i) do |index|
          [rows.map { |row| row[index].to_s.length }.max, least].max
        end
        rows.map { |row| line(row, widths) }
      end

      def line(row, widths)
        first, *others = row
        cells = others.zip(widths.drop(1)).map { |text, width| text.rjust(width) }
        [first.ljust(widths[0]), *cells].join(GAP).rstrip
      end
      private_class_method :line
    end
  end
end
