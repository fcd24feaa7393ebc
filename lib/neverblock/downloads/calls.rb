# frozen_string_literal: true

# Calls the blocks of `on_download` in a process with the application. They run on an event loop of
# their own, each in a fiber, so that requests do not wait for them and do not fail with them.

require "neverblock/db/active_record/release"
require "neverblock/downloads/losses"
require "neverblock/verbs/run"

module NeverBlock
  module Downloads
    class Calls
      # Most blocks that run at once.
      AT_ONCE = 16
      # Seconds for waiting and running blocks when the server ends.
      CLOSE_S = 3.0

      # @param blocks [Array<#call>] each is called with every Report
      # @param log [Log]
      # @param count [#call] called with :called, :failed or :lost and a number, on any thread
      # @param losses [Losses]
      def initialize(blocks, log, count, losses)
        @blocks = blocks
        @log = log
        @count = count
        @losses = losses
        @waiting = Thread::Queue.new
        @running = 0
      end

      # @return [self]
      def start
        @thread = Thread.new { NeverBlock.run { AT_ONCE.times { Fiber.schedule { work } } } }
        @thread.name = "nb-on-download"
        self
      end

      # Queues reports. Thread-safe; never blocks.
      # @param reports [Array<Report>]
      # @return [void]
      def offer(reports)
        fitting = Losses.fitting(reports, @waiting.size)
        fitting.each { |report| @waiting << report }
        @losses.add(reports.size - fitting.size,
                    "#{Losses::WAITING_MAX} wait for on_download, which is too slow")
      end

      # Waits a short time for running and queued blocks, then ends the thread.
      # @param seconds [Numeric]
      # @return [void]
      def close(seconds = CLOSE_S)
        @waiting.close
        return if @thread.join(seconds)

        left = @waiting.size + @running
        @thread.kill
        @losses.add(left, "the process has ended, and on_download was too slow")
      end

      private

      def work
        while (report = @waiting.pop)
          @running += 1
          call(report)
          @running -= 1
        end
      end

      def call(report)
        around { @blocks.each { |block| block.call(report) } }
        @count.call(:called, 1)
      rescue StandardError, ScriptError, SystemStackError => e
        @count.call(:failed, 1)
        @log.error("on_download failed for #{report.id}", e)
      ensure
        DB::ActiveRecord::Release.now
      end

      # Like Rails around a request: its connections are given back, and its code may be reloaded.
      def around(&block)
        rails? ? ::Rails.application.executor.wrap(&block) : yield
      end

      def rails?
        defined?(::Rails.application) && ::Rails.application
      end
    end
  end
end
