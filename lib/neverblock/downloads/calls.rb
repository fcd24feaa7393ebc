# frozen_string_literal: true

# Calls the blocks of `on_download`, in a process that has the application: on an event loop of their own, a fiber for each of several at once, so that requests
# neither wait for them nor give way to their failures.

require "neverblock/db/active_record/release"
require "neverblock/downloads/losses"
require "neverblock/verbs/run"

module NeverBlock
  module Downloads
    class Calls
      # Blocks that run at once.
      AT_ONCE = 16
      # Seconds for the last ones when the server ends.
      CLOSE_S = 3.0

      # @param blocks [Array<#call>] each is given every Report
      # @param log [Log]
      # @param count [#call] takes :called, :failed or :lost and a number; on this object's thread, or on that of a caller
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

      # Any thread; never waits.
      # @param reports [Array<Report>]
      # @return [void]
      def offer(reports)
        fitting = Losses.fitting(reports, @waiting.size)
        fitting.each { |report| @waiting << report }
        @losses.add(reports.size - fitting.size, "#{Losses::WAITING_MAX} wait for on_download, which is too slow")
      end

      # Lets those that run end, and those that wait run, for a short time.
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

      # What Rails does around a request: its connections are given back, its code may be loaded.
      def around(&block)
        rails? ? ::Rails.application.executor.wrap(&block) : yield
      end

      def rails?
        defined?(::Rails.application) && ::Rails.application
      end
    end
  end
end
