# frozen_string_literal: true

# Draws numbers as a line of small bars, the newest to the right.

module NeverBlock
  module Watch
    module Sparkline
      LEVELS = %w[▁ ▂ ▃ ▄ ▅ ▆ ▇ █].freeze
      NOTHING = " "

      module_function

      # @param values [Array<Numeric, nil>] nil: unknown, drawn as a gap
      # @param width [Integer] characters
      # @return [String] width characters
      def draw(values, width)
        shown = values.last([width, 0].max)
        highest = shown.compact.max || 0
        bars = shown.map { |value| value ? LEVELS[level(value, highest)] : NOTHING }
        bars.join.rjust([width, 0].max)
      end

      def level(value, highest)
        return 0 unless highest.positive? && value.positive?

        ((value.to_f / highest) * (LEVELS.size - 1)).ceil.clamp(0, LEVELS.size - 1)
      end
      private_class_method :level
    end
  end
end
