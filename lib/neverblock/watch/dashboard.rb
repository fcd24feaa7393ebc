# frozen_string_literal: true

# The display of `neverblock top`: a trend as the lines of a screen, each a list of spans (text and
# style), or as one line for a pipe.

require "neverblock/watch/columns"
require "neverblock/watch/document"
require "neverblock/watch/pool_rows"
require "neverblock/watch/sparkline"
require "neverblock/watch/trend"
require "neverblock/watch/units"

module NeverBlock
  module Watch
    class Dashboard
      # Seconds of one fiber after which its executor is marked: its other requests wait.
      BUSY_S = 0.1
      LABEL_WIDTH = 12
      RATE_WIDTH = 12
      SPARKLINE_MAX = 120
      KEYS = "q quits  Tab: requests"

      # @param address [Config::Bind]
      # @param trend [Trend]
      def initialize(address, trend)
        @address = address
        @trend = trend
      end

      # @param rows [Integer] of the screen
      # @param columns [Integer]
      # @param problem [String, nil] why the last request failed
      # @return [Array<Array<Array(String, Symbol)>>] at most rows lines of spans, each no wider
      #   than columns
      def screen(rows, columns, problem: nil)
        lines = body(columns)
        lines.reject!(&:empty?) if lines.size + 1 > rows
        lines = shortened(lines, rows - 1)
        [*lines, footer(problem)].last([rows, 1].max).map { |spans| clip(spans, columns) }
      end

      # The screen of requests: the most important figures above them.
      # @param view [RequestsView]
      # @param rows [Integer] of the screen
      # @param columns [Integer]
      # @param problem [String, nil]
      # @return [Array<Array<Array(String, Symbol)>>] as #screen
      def requests_screen(view, rows, columns, problem: nil)
        above = [head, rates(columns).first, requests, []]
        above = [] if above.size + 6 > rows
        below = view.lines(rows - above.size - 1)
        lines = [*above, *below, requests_footer(problem, view.keys)]
        lines.last([rows, 1].max).map { |spans| clip(spans, columns) }
      end

      # @param problem [String, nil]
      # @return [String] one line
      def line(problem: nil)
        return "#{@address}: #{problem}" if problem

        "#{document.text("state") || "unknown"} up #{Units.age(document.number("uptime_s"))}: " \
          "#{requests_in_line}, connections #{count("connections", "open")}, " \
          "received #{bytes_rate(Trend::RECEIVED)}, sent #{bytes_rate(Trend::SENT)}, " \
          "p50 #{quantile("total", "p50")}, p99 #{quantile("total", "p99")}, " \
          "memory #{Units.bytes(document.number("memory", "rss_bytes"))}#{busy_words}"
      end

      private

      def requests_in_line
        "requests #{rate("requests", "total")}/s, running #{count("requests", "running")}, " \
          "queued #{count("requests", "queued")}, " \
          "5xx #{rate("requests", "by_class", "5xx")}/s, shed #{rate("requests", "shed_total")}/s"
      end

      def document
        @trend.document
      end

      def body(columns)
        [head, [], *rates(columns), connections, requests, answers, [], *latency, [],
         *executors, [], *pools, loop_and_dns, memory]
      end

      def head
        state = document.text("state") || "unknown"
        facts = "  process #{document.number("pid") || "?"}, " \
                "Ruby #{document.text("ruby") || "?"}, " \
                "up #{Units.age(document.number("uptime_s"))}"
        [["NeverBlock #{document.text("neverblock") || "?"}", :bold], ["  ", nil],
         [state, state == "running" ? :good : :warning], [facts, nil]]
      end

      def rates(columns)
        width = [columns - LABEL_WIDTH - RATE_WIDTH - 2, SPARKLINE_MAX].min
        [["requests", "#{rate(*Trend::REQUESTS)}/s", Trend::REQUESTS],
         ["received", bytes_rate(Trend::RECEIVED), Trend::RECEIVED],
         ["sent", bytes_rate(Trend::SENT), Trend::SENT]].map do |name, text, path|
          [[name.ljust(LABEL_WIDTH), nil], [text.rjust(RATE_WIDTH), :bold], ["  ", nil],
           [Sparkline.draw(@trend.history(path), width), :graph]]
        end
      end

      def connections
        plain("connections",
              "open #{count("connections", "open")} of #{count("connections", "limit")}, " \
              "idle #{count("connections", "idle")}, reading #{count("connections", "reading")}, " \
              "answering #{count("connections", "answering")}, " \
              "refused #{count("connections", "refused_total")}")
      end

      def requests
        plain("in work",
              "running #{count("requests", "running")}, queued #{count("requests", "queued")}, " \
              "writing #{count("requests", "writing")}; total #{count("requests", "total")}, " \
              "shed #{count("requests", "shed_total")}, " \
              "errors #{count("requests", "errors_total")}")
      end

      def answers
        spans = [["answers".ljust(LABEL_WIDTH), nil]]
        Document::CLASSES.each do |name|
          now = @trend.rate("requests", "by_class", name)
          spans << ["  ", nil]
          spans << ["#{name} #{Units.rate(now)}/s", name == "5xx" && now&.positive? ? :bad : nil]
        end
        spans
      end

      # "now" is the mean since the last reading. The other values cover the server's whole life.
      def latency
        rows = Document::STAGES.map do |stage|
          now = Units.duration(@trend.mean("latency_s", stage))
          values = Document::QUANTILES.map { |name| quantile(stage, name) }
          [stage, now, *values, count("latency_s", stage, "count")]
        end
        table([["latency", "now", *Document::QUANTILES, "count"], *rows], least: 9)
      end

      EXECUTOR_COLUMNS = [
        "executor", "running", "parked", "ready", "requests/s", "turns/s", "lag p99", "busy for"
      ].freeze
      private_constant :EXECUTOR_COLUMNS

      def executors
        parts = document.parts("executors")
        rows = parts.map { |part| executor(part) }
        lines = table([EXECUTOR_COLUMNS, *rows], least: 7)
        lines.zip([nil, *parts]).map do |spans, part|
          part && busy?(part) ? [[spans.first.first, :bad]] : spans
        end
      end

      def executor(part)
        fibers = %w[running parked ready].map { |name| Units.count(part.number(name)) }
        rates = %w[requests_total turns_total].map do |name|
          Units.rate(@trend.executor_rate(part.id, name, pid: part.number("pid")))
        end
        [part.executor_name, *fibers, *rates, Units.duration(part.number("lag_s", "p99")),
         busy_text(part)]
      end

      # Those that somebody wanted in the last minute; who waits now is marked.
      def pools
        rows = PoolRows.new(document, used: true).to_a
        return [] if rows.empty?

        first, *others = Columns.align(rows, least: 4, left: PoolRows::LEFT)
        lines = others.zip(rows.drop(1)).map do |text, row|
          [[text, row[PoolRows::WAITING] == "0" ? nil : :warning]]
        end
        [[[first, :dim]], *lines, []]
      end

      def busy?(part)
        (part.number("busy_for_s") || 0) > BUSY_S
      end

      # Marked also by a character, for readers without colours.
      def busy_text(part)
        text = Units.duration(part.number("busy_for_s"))
        busy?(part) ? "! #{text}" : text
      end

      def busy_words
        busy = document.parts("executors").select { |part| busy?(part) }
        busy.map do |part|
          ", executor #{part.executor_name} busy for #{Units.duration(part.number("busy_for_s"))}"
        end.join
      end

      def loop_and_dns
        plain("I/O loop",
              "#{rate("loop", "turns_total")} turns/s, " \
              "lag p99 #{Units.duration(document.number("loop", "lag_s", "p99"))}; " \
              "DNS #{count("dns", "lookups_total")} lookups, " \
              "#{count("dns", "failed_total")} failed; log #{count("log", "dropped_total")} lost")
      end

      def memory
        plain("memory",
              "#{Units.bytes(document.number("memory", "rss_bytes"))} resident, " \
              "#{Units.bytes(document.number("memory", "spool_bytes"))} spooled, " \
              "#{Units.bytes(document.number("memory", "response_bytes"))} responses; " \
              "GC #{rate("gc", "count_total")}/s, " \
              "#{Units.duration(document.number("gc", "time_s"))}")
      end

      def footer(problem)
        return [[" #{KEYS}  #{@address}", :dim]] unless problem

        [[" trying again: #{problem} ", :bad], [" #{KEYS}", :dim]]
      end

      def requests_footer(problem, keys)
        problem ? [[" #{problem} ", :bad], [" #{keys}", :dim]] : [[" #{keys}", :dim]]
      end

      def shortened(lines, rows)
        return lines if lines.size <= rows || rows < 1

        more = "#{lines.size - rows + 1} more lines: a taller window shows them"
        lines.first(rows - 1) << [[more, :dim]]
      end

      def table(rows, least:)
        first, *others = Columns.align(rows, least: least)
        [[[first, :dim]], *others.map { |text| [[text, nil]] }]
      end

      def clip(spans, columns)
        left = columns
        spans.filter_map do |text, style|
          next if left < 1

          part = text[0, left]
          left -= part.length
          [part, style]
        end
      end

      def plain(name, text)
        [[name.ljust(LABEL_WIDTH), nil], ["  #{text}", nil]]
      end

      def rate(*path)
        Units.rate(@trend.rate(*path))
      end

      def bytes_rate(path)
        "#{Units.bytes(@trend.rate(*path))}/s"
      end

      def count(*path)
        Units.count(document.number(*path))
      end

      def quantile(stage, name)
        Units.duration(document.number("latency_s", stage, name))
      end
    end
  end
end
