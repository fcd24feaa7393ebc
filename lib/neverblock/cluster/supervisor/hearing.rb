# frozen_string_literal: true

# What molds and workers tell the front (see Mold and Worker), and what follows from it.

require "neverblock/server/lane_rules"

module NeverBlock
  module Cluster
    class Supervisor
      module Hearing
        private

        def hear(process)
          messages = process.control.read
          return fall_silent(process) unless messages

          messages.each { |message| process.is_a?(MoldHandle) ? hear_mold(process, message) : hear_worker(process, message) }
        end

        def fall_silent(process)
          process.silent = now
          reap
        end

        def hear_mold(mold, message)
          case message[:event]
          when "loaded" then loaded(mold, message)
          when "failed" then mold.problem = message[:message]
          when "forked" then worker_of(message)&.pid = message[:pid]
          when "not_forked" then worker_of(message)&.then { |worker| not_forked(worker, message[:message]) }
          when "ended" then worker_of(message)&.then { |worker| ended(worker, message.slice(:code, :signal)) }
          end
        end

        def worker_of(message)
          roster.all.find { |worker| worker.id == message[:id] }
        end

        def loaded(mold, message)
          mold.state = :loaded
          @notices = message[:notices]
          warn_of_threads(message[:threads])
          name_differences(message[:settings])
          @mold ||= mold unless @reload&.mold.equal?(mold)
        end

        def warn_of_threads(threads)
          return if threads.empty?

          log.warn("the application started #{threads.size} thread#{"s" unless threads.size == 1} while it was loaded: workers are forked and will not have them; start them in " \
                   "after_fork, or at the first request: #{threads.join("; ")}")
        end

        def name_differences(theirs)
          names = Settings.differing(@ours ||= Settings.of(@settings), theirs)
          log.warn("the new configuration differs in #{names.join(", ")}: that is the front's, which keeps what it has; start the server again for it") unless names.empty?
        end

        def not_forked(worker, problem)
          worker.problem = problem
          ended(worker, nil)
        end

        def hear_worker(worker, message)
          case message[:event]
          when "started" then worker.pid = message[:pid]
          when "ready" then ready(worker)
          when "failed" then worker.problem = message[:message]
          when "retire" then asked_to_leave(worker)
          when "backtrace" then @rounds.answered(worker, message[:lines])
          when "downloads" then reports_told(worker, message)
          when "lanes" then @lanes.call(LaneRules.read(message[:rules]))
          when "ending" then worker.ending = now
          end
        end

        def ready(worker)
          worker.enter(:ready, now)
          worker.mold.proven = true
          return if @reload&.mold.equal?(worker.mold)
          return discard_worker(worker) if @draining || worker.number >= roster.target

          serve(worker)
        end

        def asked_to_leave(worker)
          worker.terminated ||= now
        end

        # SIGTERM at a worker alone.
        def let_leave(worker)
          return if @draining || worker.leaving || worker.state != :serving

          log.info("#{worker} had SIGTERM: another takes its place, then it ends what it runs")
          worker.leaving = "had SIGTERM"
        end
      end
    end
  end
end
