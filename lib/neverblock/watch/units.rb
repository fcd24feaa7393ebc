# frozen_string_literal: true

# Formats figures for people: three significant digits and a unit. An unknown figure is a dash.

module NeverBlock
  module Watch
    module Units
      UNKNOWN = "-"
      BYTES = %w[B KB MB GB TB PB].freeze
      BYTES_STEP = 1000.0

      module_function

      # @param number [Numeric, nil]
      # @return [String] 1,234,567
      def count(number)
        return UNKNOWN if number.nil?

        number.round.to_s.reverse.scan(/\d{1,3}-?/).join(",").reverse
      end

      # @param number [Numeric, nil] a second
      # @return [String] like a count; below ten with one decimal
      def rate(number)
        return UNKNOWN if number.nil?

        number.positive? && number < 10 ? format("%.1f", number) : count(number)
      end

      # @param seconds [Numeric, nil]
      # @return [String] 340 µs, 1.24 ms, 12.1 s
      def duration(seconds)
        return UNKNOWN if seconds.nil?
        return "0 s" if seconds.zero?
        return "#{significant(seconds * 1e6)} µs" if seconds < 0.000_999_5
        return "#{significant(seconds * 1e3)} ms" if seconds < 0.999_5

        "#{significant(seconds)} s"
      end

      # @param number [Numeric, nil]
      # @return [String] 999 B, 1.24 MB (10^6), 12.1 GB
      def bytes(number)
        return UNKNOWN if number.nil?

        value = number.to_f
        unit = BYTES.find.with_index do |_, index|
          (value < 999.5) || index == BYTES.size - 1 || (value /= BYTES_STEP).nil?
        end
        unit == "B" ? "#{value.round} B" : "#{significant(value)} #{unit}"
      end

      # @param number [Numeric, nil] bytes a second
      # @return [String] 12.1 MB/s
      def speed(number)
        number.nil? ? UNKNOWN : "#{bytes(number)}/s"
      end

      # @param seconds [Numeric, nil]
      # @return [String] 3 days 4 h, 2 h 13 min, 13 min 5 s, 42 s
      def age(seconds)
        return UNKNOWN if seconds.nil?

        rest = [seconds.to_i, 0].max
        days, rest = rest.divmod(86_400)
        hours, rest = rest.divmod(3_600)
        minutes, rest = rest.divmod(60)
        return "#{days} day#{"s" unless days == 1} #{hours} h" if days.positive?
        return "#{hours} h #{minutes} min" if hours.positive?

        minutes.positive? ? "#{minutes} min #{rest} s" : "#{rest} s"
      end

      def significant(value)
        size = value.abs
        return value.round.to_s if size >= 99.95

        format(size >= 9.995 ? "%.1f" : "%.2f", value)
      end
      private_class_method :significant
    end
  end
end
