# frozen_string_literal: true

# Successive documents of a server as rates: differences by the server's own clock, and the last of them as a history. A server that was started anew begins anew.

module NeverBlock
  module Watch
    class Trend
      # More than a wide terminal shows.
      HISTORY_MAX = 240
      REQUESTS = %w[requests total].freeze
      SENT = %w[bytes sent_total].freeze
      RECEIVED = %w[bytes received_total].freeze
      KEPT = [REQUESTS, SENT, RECEIVED].freeze

      # @return [Document, nil] the last
      attr_reader :document

      def initialize
        @history = KEPT.to_h { |path| [path, []] }
      end

      # @param document [Document, nil] nil: the server did not answer
      # @return [self]
      def add(document)
        @previous = same_run?(document) ? @document : nil
        @document = document if document
        KEPT.each do |path|
          list = @history[path]
          list << (document && rate(*path))
          list.shift if list.size > HISTORY_MAX
        end
        self
      end

      # @return [Float, nil] a second, between the last two documents
      def rate(*path)
        difference(*path)&.fdiv(seconds) if @previous && seconds&.positive?
      end

      # @return [Float, nil] mean of a histogram's values between the last two documents
      def mean(*path)
        count = difference(*path, "count")
        sum = difference(*path, "sum")
        sum.fdiv(count) if sum && count&.positive?
      end

      # @param id [Integer, String] of an executor
      # @return [Float, nil] a second
      def executor_rate(id, name)
        before, now = [@previous, @document].map { |document| document && executor(document, id)&.number(name) }
        (now - before).fdiv(seconds) if before && now && now >= before && seconds&.positive?
      end

      # @param path [Array<String>] one of KEPT
      # @return [Array<Float, nil>] oldest first; nil where none is known
      def history(path)
        @history.fetch(path)
      end

      private

      # nil for a counter that went back: it counts something else now.
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

        [document, @document].map { |one| [one.number("pid"), one.text("started_at")] }.uniq.size == 1
      end

      def executor(document, id)
        document.parts("executors").find { |part| part.id == id }
      end
    end
  end
end
