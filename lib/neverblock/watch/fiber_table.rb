# frozen_string_literal: true

# Fibers as a table for people, with their backtraces where those were asked for.

require "neverblock/watch/columns"
require "neverblock/watch/fiber_row"
require "neverblock/watch/units"

module NeverBlock
  module Watch
    class FiberTable
      REQUEST_WIDTH = 48

      # @param fibers [Fibers]
      # @param rows [Array<FiberRow>] those of them that are to be shown
      # @param backtrace [Boolean]
      def initialize(fibers, rows, backtrace: false)
        @fibers = fibers
        @rows = rows
        @backtrace = backtrace
      end

      # @return [String]
      def to_s
        parts = [summary]
        parts << "" << table unless @rows.empty?
        parts.concat(@rows.flat_map { |row| traced(row) }) if @backtrace
        parts.concat(notes)
        "#{parts.join("\n")}\n"
      end

      private

      def summary
        return "no fiber to show#{why_none}" if @rows.empty?

        counts = @rows.map(&:state).tally
        kinds = @rows.filter_map(&:kind).tally.sort_by { |kind, count| [-count, kind] }
        words = kinds.map { |kind, count| "#{count} #{kind}" }.join(", ")
        states = %w[running ready waiting].filter_map do |state|
          "#{counts[state]} #{state}" if counts[state]
        end
        states[-1] += " (#{words})" unless kinds.empty?
        "#{how_many}: #{states.join(", ")}"
      end

      # An idle server is told apart from options that no fiber is as.
      def why_none
        case all
        when 0 then ""
        when 1 then ": the only one is not as the options say"
        else ": none of #{all} is as the options say"
        end
      end

      def how_many
        part = "#{@rows.size} of " if @rows.size < all
        "#{part}#{all} fiber#{"s" unless all == 1}"
      end

      # Those that the server has told.
      def all
        @fibers.rows.size
      end

      def table
        lines = [FiberRow::HEADER, *@rows.map { |row| row.cells(shortened(row.request)) }]
        Columns.align(lines, least: 4, left: FiberRow::LEFT)
      end

      def shortened(text)
        text.length > REQUEST_WIDTH ? "#{text[0, REQUEST_WIDTH - 1]}\u2026" : text
      end

      def traced(row)
        head = "#{row.request} #{row.document.text("id")}, #{row.doing}"
        return ["", head, "    (no backtrace: #{reason(row)})"] if row.backtrace.empty?

        ["", "#{head}; backtrace of #{Units.duration(row.backtrace_age_s)} ago",
         *row.backtrace.map { |line| "    #{line}" }]
      end

      def reason(row)
        case row.state
        when "running" then "it runs, and has not run for long enough to be asked where"
        when "ready" then "it is in the run queue"
        else
          return "its executor is stuck, and none was taken before" unless @fibers.answered?(row)

          "256 backtraces are kept for each executor, and its own is not among them"
        end
      end

      def notes
        left = @fibers.left_out
        notes = []
        notes << "" << "#{left} more are not shown: the oldest are" if left.positive?
        if @backtrace && @fibers.unanswered.any?
          notes << "" << "an executor is stuck: backtraces of its waiting fibers are older ones"
        end
        notes
      end
    end
  end
end
