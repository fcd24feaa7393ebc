# frozen_string_literal: true

module NeverBlock
  module Bench
    # Prints progress on a stream, one line for each step.
    class Progress
      # @param output [IO]
      def initialize(output)
        @output = output
      end

      # @param text [String]
      def say(text)
        @output.puts(text)
        @output.flush
      end

      # @param seconds [Numeric]
      # @return [String] "3 min", "40 s"
      def self.duration(seconds)
        seconds < 90 ? "#{seconds.ceil} s" : "#{(seconds / 60.0).ceil} min"
      end
    end
  end
end
