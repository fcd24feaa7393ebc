# frozen_string_literal: true

module NeverBlock
  module Bench
    # Formats a figure for a table cell: the median, and the lowest and highest round in brackets.
    module Cell
      NONE = "-"

      class << self
        # @param value [Numeric, nil]
        # @param digits [Integer] after the point
        # @return [String] with a comma for each thousand
        def number(value, digits: 0)
          return NONE unless value

          whole, fraction = format("%.#{digits}f", value).split(".")
          whole = whole.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")
          fraction ? "#{whole}.#{fraction}" : whole
        end

        # @param summary [Summary, nil]
        # @return [String] "77,777 (70,000..80,100)"
        def spread(summary, digits: 0, scale: 1)
          return NONE unless summary

          values = [summary.median, summary.low, summary.high]
          median, low, high = values.map { |value| number(value * scale, digits: digits) }
          summary.rounds > 1 ? "#{median} (#{low}..#{high})" : median
        end

        # @param summary [Summary, nil]
        # @return [String] "0.95 x (0.90..1.01)"
        def ratio(summary, digits: 2)
          return NONE unless summary

          spread(summary, digits: digits).sub(/\A\S+/) { |median| "#{median} x" }
        end

        # @param summary [Summary, nil] of shares of one
        # @return [String] "92.3 % (90.0..94.1)"
        def percent(summary)
          return NONE unless summary

          spread(summary, digits: 1, scale: 100).sub(/\A\S+/) { |median| "#{median} %" }
        end

        # @param summary [Summary, nil] of bytes
        # @return [String] in MB of a million bytes
        def megabytes(summary)
          spread(summary, digits: 1, scale: 1e-6)
        end

        # @param summary [Summary, nil] of microseconds
        # @return [String] in milliseconds
        def millis(summary, digits: 1)
          spread(summary, digits: digits, scale: 1e-3)
        end

        # @param summary [Summary, nil] of tenths of microseconds and more
        # @return [String]
        def micros(summary)
          spread(summary, digits: 1)
        end
      end
    end

    # A titled table of texts, as Markdown or in plain columns: the first column to the left, the
    # others to the right.
    class Table
      attr_reader :title, :headers, :rows

      # @param title [String]
      # @param headers [Array<String>]
      # @param rows [Array<Array<String>>]
      def initialize(title, headers:, rows:)
        @title = title
        @headers = headers
        @rows = rows
      end

      # @return [String]
      def to_text
        rule = widths.map { |width| "-" * width }
        lines = [headers, rule, *rows].map { |row| padded(row).join("  ").rstrip }
        "#{title}\n#{lines.join("\n")}\n"
      end

      # @return [String]
      def to_markdown
        rule = widths.each_with_index.map do |width, index|
          index.zero? ? "-" * width : "#{"-" * (width - 1)}:"
        end
        lines = [headers, rule, *rows].map do |row|
          "| #{padded(row.map { |cell| cell.gsub("|", "\\|") }).join(" | ")} |"
        end
        "#{title}\n\n#{lines.join("\n")}\n"
      end

      private

      def widths
        @widths ||= [headers, *rows].transpose.map { |column| [column.map(&:length).max, 3].max }
      end

      def padded(row)
        row.each_with_index.map do |cell, index|
          index.zero? ? cell.ljust(widths[index]) : cell.rjust(widths[index])
        end
      end
    end
  end
end
