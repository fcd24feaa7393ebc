# frozen_string_literal: true

# Reports of downloads on their way from the front, which knows them, to workers, which have the application and its on_download.

require "neverblock/downloads/losses"

module NeverBlock
  module Cluster
    class Supervisor
      module Reporting
        # Reports that wait for a worker.
        WAITING_MAX = NeverBlock::Downloads::Losses::WAITING_MAX
        # Given to one worker ahead of its telling their end: what its socket holds in any case, so that nobody waits for it.
        AHEAD_MAX = 32
        NO_WORKER = "no worker was there to be told"

        private

        # Posted.
        def downloads_ended(reports)
          @reports ||= []
          fitting = NeverBlock::Downloads::Losses.fitting(reports, @reports.size)
          @reports.concat(fitting)
          losses.add(reports.size - fitting.size, "#{WAITING_MAX} wait for on_download in the workers, which are too slow")
        end

        def give_reports
          while @reports&.any? && (worker = who_takes_reports)
            report = @reports.shift
            worker.reports += 1
            worker.control.tell({ do: "download", report: report.to_a })
          end
        end

        def who_takes_reports
          worker = roster.all.select { |one| %i[serving retiring].include?(one.state) && !one.ending && !one.silent }.min_by(&:reports)
          worker if worker && worker.reports < AHEAD_MAX
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
          @losses ||= NeverBlock::Downloads::Losses.new(log, @engine.method(:count_reports), clock: @clock)
        end
      end
    end
  end
end
