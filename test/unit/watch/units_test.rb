# frozen_string_literal: true

require_relative "watch_case"

class WatchUnitsTest < WatchCase
  SHOWN = {
    count: {
      nil => "-", 0 => "0", 999 => "999", 1_000 => "1,000", 1_234_567 => "1,234,567",
      -1_234 => "-1,234", 12.6 => "13"
    },
    rate: { nil => "-", 0 => "0", 0.04 => "0.0", 3.25 => "3.2", 1_234.4 => "1,234" },
    duration: {
      nil => "-", 0 => "0 s", 0.000_001_2 => "1.20 µs", 0.000_34 => "340 µs",
      0.000_999_6 => "1.00 ms", 0.0121 => "12.1 ms", 0.9996 => "1.00 s", 12.34 => "12.3 s",
      1_234 => "1234 s"
    },
    bytes: {
      nil => "-", 0 => "0 B", 999 => "999 B", 999.6 => "1.00 KB", 1_234_567 => "1.23 MB",
      12_345_678_901 => "12.3 GB", 1e20 => "100000 PB"
    },
    speed: { nil => "-", 0 => "0 B/s", 1_234_567 => "1.23 MB/s" },
    age: {
      nil => "-", -1 => "0 s", 42.9 => "42 s", 785 => "13 min 5 s", 7_980 => "2 h 13 min",
      86_400 => "1 day 0 h", 273_600 => "3 days 4 h"
    }
  }.freeze

  SHOWN.each do |unit, table|
    table.each do |number, text|
      define_method("test_#{unit} of #{number.inspect} is #{text}") do
        assert_equal text, Units.public_send(unit, number)
      end
    end
  end
end
