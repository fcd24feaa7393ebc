# frozen_string_literal: true

# Passes download reports from the front to workers, which have the application and its on_download.

require "neverblock/downloads/losses"

module NeverBlock
  module Cluster
    class Supervisor
      module Reporting
        # Most reports that wait for a worker.
        WAITING_MAX = NeverBlock::Downloads::Losses::WAITING_MAX
        # Most reports a worker has that are not done: as many as its socket certainly holds, so
        # that sending never blocks.
        AHEAD_MAX = 32
        NO_WORKER = "there was no worker to take them"

        private

        # Called by #post.
        def downloads_ended(reports)
          @reports ||= []
          fitting = NeverBlock::Downloads::Losses.fitting(reports, @reports.size)
          @reports.concat(fitting)
          losses.add(reports.size - fitting.size,
                     "#{WAITING_MAX} wait for on_download in the workers, which are too slow")
        end

        def give_reports
          while @reports&.any? && (worker = least_loaded)
            report = @reports.shift
            worker.reports += 1
            worker.control.tell({ do: "download", report: report.to_a })
          end
        end

        def least_loaded
          able = roster.all.select { |worker| takes_reports?(worker) }
          worker = able.min_by(&:reports)
          worker if worker && worker.reports < AHEAD_MAX
        end

        def takes_reports?(worker)
          %i[serving retiring].include?(worker.state) && !worker.ending && !worker.silent
        end

        def reports_told(worker, message)
          %i[called failed lost].each do |fate|
            number = message[fate].to_i
            next unless number.positive?

            worker.reports = [worker.reports - number, 0].max
            @engine.count_reports(fate, number)
          end
        end

        def reports_ended_with(worker)
          return if worker.reports.zero?

          losses.add(worker.reports, "the worker that had them has ended")
          worker.reports = 0
        end

        def lose_reports
          losses.add(@reports.size, NO_WORKER) if @reports&.any?
          @losses&.flush
        end

        def losses
          @losses ||= NeverBlock::Downloads::Losses.new(
            log, @engine.method(:count_reports), clock: @clock
          )
        end
      end
    end
  end
end
