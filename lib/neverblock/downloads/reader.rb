# frozen_string_literal: true

# Takes download reports from the I/O loops, on a thread of the process that has the loops, and
# passes them on: to a URL (Post), to the application's blocks (Calls), or to a front's workers.

require "neverblock/downloads/losses"
require "neverblock/downloads/report"

module NeverBlock
  module Downloads
    class Reader
      # Most reports passed on at once.
      BATCH = 64
      FULL = "the process was too busy to take them from the I/O loop"

      # @param config [Config]
      # @return [Boolean] whether reports are needed
      def self.wanted?(config)
        !config.report.nil? || !config.on_download.empty?
      end

      # @param engine [Engine] not started
      # @param config [Config]
      # @param log [Log]
      # @param workers [#call, nil] receives reports for on_download, instead of Calls in this
      #   process
      def initialize(engine, config, log, workers: nil)
        @engine = engine
        count = engine.method(:count_reports)
        @losses = Losses.new(log, count)
        @takers = []
        @takers << post(config, log, count) if config.report
        unless config.on_download.empty?
          @takers << (workers ? Workers.new(workers) : calls(config, log, count))
        end
        @dropped = 0
        @io = IO.for_fd(engine.open_reports, autoclose: false)
        @wake, @waker = IO.pipe
      end

      # Passes reports to a front's workers, by their supervisor.
      Workers = Struct.new(:receiver) do
        def start; end

        def offer(reports)
          receiver.call(reports)
        end

        def close; end
      end

      # @return [self]
      def start
        @takers.each(&:start)
        @thread = Thread.new { run }
        @thread.name = "nb-downloads"
        self
      end

      # To be called after the I/O loops have ended and before the engine is closed. Passes on what
      # is left, and closes the takers.
      # @return [void]
      def close
        @waker.close
        @thread&.join
        @takers.map { |taker| Thread.new { taker.close } }.each(&:join) if @thread
        @losses.flush
        @wake.close
      end

      private

      def post(config, log, count)
        require "neverblock/downloads/post"
        Post.new(config.report, log, count, @losses)
      end

      def calls(config, log, count)
        require "neverblock/downloads/calls"
        Calls.new(config.on_download, log, count, @losses)
      end

      def run
        loop do
          readable, = IO.select([@io, @wake])
          take
          break if readable.include?(@wake)
        end
      end

      def take
        until (reports = batch).empty?
          @takers.each { |taker| taker.offer(reports) }
        end
        dropped = @engine.stats.fetch(:reports_dropped)
        @losses.note(dropped - @dropped, FULL)
        @dropped = dropped
      end

      def batch
        found = []
        while found.size < BATCH && (report = @engine.take_report)
          found << Report.new(*report)
        end
        found
      end
    end
  end
end
