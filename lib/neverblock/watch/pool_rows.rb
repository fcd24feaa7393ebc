# frozen_string_literal: true

# The pools of /status.json as rows of a table, those with the longest waits of the last minute
# first.

require "neverblock/watch/units"

module NeverBlock
  module Watch
    class PoolRows
      HEADER = ["pool", "kind", "worker", "in use", "waiting", "wanted", "had to wait", "each",
                "would do"].freeze
      # Columns of text.
      LEFT = [0, 1].freeze
      # The column with those that wait now.
      WAITING = HEADER.index("waiting")

      # @param document [Document]
      # @param used [Boolean] whether only pools are shown that somebody wanted in the last minute
      def initialize(document, used: false)
        @parts = document.parts("pools")
        @parts = @parts.select { |part| minute(part, "demand_max").positive? } if used
      end

      # @return [Array<Array<String>>] the header and a row for each; empty without pools
      def to_a
        return [] if @parts.empty?

        parts = @parts.sort_by { |part| [-minute(part, "waited_s"), -minute(part, "demand_max")] }
        [HEADER, *parts.map { |part| row(part) }]
      end

      private

      def row(part)
        [part.text("name") || "?", part.text("kind") || "?", Units.count(part.number("worker")),
         in_use(part), Units.count(part.number("waiting")), wanted(part), share(part), mean(part),
         Units.count(part.number("would_do"))]
      end

      def in_use(part)
        size = part.number("size")
        used = Units.count(part.number("in_use"))
        size ? "#{used} of #{Units.count(size)}" : used
      end

      # More were wanted than the pool has seen where requests were held back before it.
      def wanted(part)
        "#{Units.count(minute(part, "demand_max"))}#{"+" if part.true?("last_minute", "held_back")}"
      end

      def share(part)
        waited = minute(part, "waited")
        all = [minute(part, "acquired"), waited].max
        all.positive? ? "#{(100.0 * waited / all).round} %" : Units::UNKNOWN
      end

      def mean(part)
        waits = [minute(part, "waited"), part.number("waiting").to_i].max
        waits.positive? ? Units.duration(minute(part, "waited_s").fdiv(waits)) : Units::UNKNOWN
      end

      def minute(part, name)
        part.number("last_minute", name) || 0
      end
    end
  end
end
