# frozen_string_literal: true

# Takes reports of downloads from the I/O loops, on a thread of its own in the process that has them, and hands them on: to a URL (Post), to blocks of the
# application's here (Calls), or to a front's workers.

require "neverblock/downloads/losses"
require "neverblock/downloads/report"

module NeverBlock
  module Downloads
    class Reader
      # Reports handed on together.
      BATCH = 64
      FULL = "the process was too busy to take them from the I/O loop"

      # @param config [Config]
      # @return [Boolean] whether somebody wants reports
      def self.wanted?(config)
        !config.report.nil? || !config.on_download.empty?
      end

      # @param engine [Engine] not started
      # @param config [Config]
      # @param log [Log]
      # @param workers [#call, nil] takes reports for on_download, in the place of Calls here
      def initialize(engine, config, log, workers: nil)
        @engine = engine
        count = engine.method(:count_reports)
        @losses = Losses.new(log, count)
        @takers = []
        @takers << post(config, log, count) if config.report
        @takers << (workers ? Workers.new(workers) : calls(config, log, count)) unless config.on_download.empty?
        @dropped = 0
        @io = IO.for_fd(engine.open_reports, autoclose: false)
        @wake, @waker = IO.pipe
      end

      # A front's workers, who are told by their supervisor.
      Workers = Struct.new(:told) do
        def start; end

        def offer(reports)
          told.call(reports)
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

      # Once the I/O loops have ended, and before the engine is closed: hands on what is left, and lets the takers end.
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
