# frozen_string_literal: true

# Computes rates from successive documents of a server: differences by the server's own clock, and
# their history. A restarted server begins a new trend.

module NeverBlock
  module Watch
    class Trend
      # Values kept, more than a wide terminal shows.
      HISTORY_MAX = 240
      REQUESTS = %w[requests total].freeze
      SENT = %w[bytes sent_total].freeze
      RECEIVED = %w[bytes received_total].freeze
      HISTORIES = [REQUESTS, SENT, RECEIVED].freeze

      # @return [Document, nil] the last document
      attr_reader :document

      def initialize
        @history = HISTORIES.to_h { |path| [path, []] }
      end

      # @param document [Document, nil] nil: the server did not answer
      # @return [self]
      def add(document)
        @previous = same_run?(document) ? @document : nil
        @document = document if document
        HISTORIES.each do |path|
          list = @history[path]
          list << (document && rate(*path))
          list.shift if list.size > HISTORY_MAX
        end
        self
      end

      # @return [Float, nil] change a second between the last two documents
      def rate(*path)
        difference(*path)&.fdiv(seconds) if @previous && seconds&.positive?
      end

      # @return [Float, nil] mean of a histogram's values between the last two documents
      def mean(*path)
        count = difference(*path, "count")
        sum = difference(*path, "sum")
        sum.fdiv(count) if sum && count&.positive?
      end

      # @param id [Integer, String] id of an executor
      # @param pid [Integer, nil] its process, if that is a worker. While old workers end after a
      #   reload, two executors have one id.
      # @return [Float, nil] change a second between the last two documents
      def executor_rate(id, name, pid: nil)
        before, now = [@previous, @document].map do |document|
          document && executor(document, id, pid)&.number(name)
        end
        (now - before).fdiv(seconds) if before && now && now >= before && seconds&.positive?
      end

      # @param path [Array<String>] one of HISTORIES
      # @return [Array<Float, nil>] oldest first; nil: unknown
      def history(path)
        @history.fetch(path)
      end

      private

      # @return [Numeric, nil] nil also for a counter that went back, which counts something else
      #   now
      def difference(*path)
        before = @previous&.number(*path)
        now = @document&.number(*path)
        now - before if before && now && now >= before
      end

      def seconds
        before = @previous&.number("uptime_s")
        now = @document&.number("uptime_s")
        now - before if before && now
      end

      def same_run?(document)
        return false unless document && @document

        runs = [document, @document].map { |one| [one.number("pid"), one.text("started_at")] }
        runs.uniq.size == 1
      end

      def executor(document, id, pid)
        document.parts("executors").find { |part| part.id == id && part.number("pid") == pid }
      end
    end
  end
end
