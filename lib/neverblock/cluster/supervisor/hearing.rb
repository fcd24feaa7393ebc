# frozen_string_literal: true

# Messages of molds and workers to the front (see Mold and Worker), and the actions on them.

require "neverblock/server/lane_rules"

module NeverBlock
  module Cluster
    class Supervisor
      module Hearing
        private

        def hear(process)
          messages = process.control.read
          return fall_silent(process) unless messages

          hear_one = process.is_a?(MoldHandle) ? method(:hear_mold) : method(:hear_worker)
          messages.each { |message| hear_one.call(process, message) }
        end

        def fall_silent(process)
          process.silent = now
          reap
        end

        def hear_mold(mold, message)
          case message[:event]
          when "loaded" then loaded(mold, message)
          when "failed" then mold.problem = message[:message]
          else hear_of_worker(worker_of(message), message)
          end
        end

        def hear_of_worker(worker, message)
          return unless worker

          case message[:event]
          when "forked" then worker.pid = message[:pid]
          when "not_forked" then not_forked(worker, message[:message])
          when "ended" then ended(worker, message.slice(:code, :signal))
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

          one = threads.size == 1
          log.warn("the application started #{threads.size} thread#{"s" unless one} while it was " \
                   "loaded: forked workers do not have #{one ? "it" : "them"}; start " \
                   "#{one ? "it" : "them"} in after_fork, or at the first request: " \
                   "#{threads.join("; ")}")
        end

        def name_differences(theirs)
          names = Settings.differing(@ours ||= Settings.of(@settings), theirs)
          return if names.empty?

          log.warn("the new configuration differs in #{names.join(", ")}: the front has these " \
                   "settings and keeps their old values; start the server again to change them")
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
          when "lanes" then lanes_told(worker, LaneRules.read(message[:rules]))
          when "ending" then exits_begin(worker)
          end
        end

        def ready(worker)
          worker.enter(:ready, now)
          worker.mold.proven = true
          return if @reload&.mold.equal?(worker.mold)
          return discard_worker(worker) if @draining || surplus?(worker)

          serve(worker)
        end

        # The rules of a worker apply from when it serves: those of a new version may never.
        def lanes_told(worker, rules)
          worker.lane_rules = rules
          @lanes.call(rules) if worker.state == :serving
        end

        def asked_to_leave(worker)
          worker.terminated ||= now
        end

        # Replaces a worker that alone got SIGTERM.
        def let_leave(worker)
          return if @draining || worker.leaving || worker.state != :serving

          log.info("#{worker} got SIGTERM: another worker replaces it, then it finishes its " \
                   "requests")
          worker.leaving = "got SIGTERM"
        end
      end
    end
  end
end
