# frozen_string_literal: true

# Numbers as a line of little columns, the newest to the right.

module NeverBlock
  module Watch
    module Sparkline
      LEVELS = %w[▁ ▂ ▃ ▄ ▅ ▆ ▇ █].freeze
      NOTHING = " "

      module_function

      # @param values [Array<Numeric, nil>] nil: not known, shown as a gap
      # @param width [Integer] characters
      # @return [String] as many characters as that
      def draw(values, width)
        shown = values.last([width, 0].max)
        highest = shown.compact.max || 0
        shown.map { |value| value ? LEVELS[level(value, highest)] : NOTHING }.join.rjust([width, 0].max)
      end

      def level(value, highest)
        return 0 unless highest.positive? && value.positive?

        ((value.to_f / highest) * (LEVELS.size - 1)).ceil.clamp(0, LEVELS.size - 1)
      end
      private_class_method :level
    end
  end
end
