# frozen_string_literal: true

# The ends of molds and workers: how they are noticed, what is released and logged, and whether the
# next start has to wait.

module NeverBlock
  module Cluster
    class Supervisor
      module Endings
        private

        def silent_children?
          @molds.any? { |mold| mold.silent && !mold.ended? } || roster.all.any?(&:silent)
        end

        def reap
          @processes.reap(pids_now).each do |pid, status|
            mold = @molds.find { |other| other.pid == pid && !other.ended? }
            next mold_ended(mold, status) if mold

            worker = roster.all.find { |other| other.pid == pid }
            ended(worker, status) if worker
          end
          roster.all.dup.each { |worker| look_at_silent(worker) if worker.silent }
        end

        # Its mold has ended, or does not report in time how it ended.
        def look_at_silent(worker)
          if worker.mold.ended?
            ended(worker, nil) unless worker.pid && @processes.alive?(worker.pid)
          elsif worker.pid && now - worker.silent > HEARSAY_S
            @processes.remains(worker.pid)&.then { |status| ended(worker, status) }
          end
        end

        # A worker that cannot be heard and is not known to have ended: the application has closed
        # its socket, or its mold is stuck.
        def bury_if_lost(worker)
          return unless worker.silent && now - worker.silent > SILENT_S

          @processes.kill(worker.pid)
          ended(worker, nil) if worker.mold.ended? || now - worker.silent > 2 * SILENT_S
        end

        def mold_ended(mold, status)
          hear_rest(mold)
          state_before = mold.state
          mold.state = :ended
          mold.control.close
          mold.silent ||= now
          @molds.delete(mold)
          @mold = nil if @mold.equal?(mold)
          return if @draining || mold.quits

          loaded = state_before == :loaded
          problem = mold.problem || (loaded ? never_all_ready(status) : never_loaded(status))
          return if @reload&.lost?(mold, problem)

          loaded ? mold_lost(mold, status) : mold_failed(mold, status, problem)
        end

        def hear_rest(mold)
          mold.control.read&.each { |message| hear_mold(mold, message) } unless mold.silent
        end

        def never_loaded(status)
          "the process that loads the application #{LastWords.ended(status)} " \
            "before it had loaded it; see its own output in the log"
        end

        def never_all_ready(status)
          "the process that the new workers are forked from #{LastWords.ended(status)} " \
            "before all of them were ready"
        end

        # A mold that ended by itself before a worker was ready, as by a hook before the fork, would
        # do so again.
        def mold_lost(mold, status)
          unless mold.proven || status[:signal] == Signal.list["KILL"]
            return fail_with(never_ready(status)) if first_start? && status[:signal].nil?

            @back_off.failed
          end
          log.error("the process that workers are forked from (#{mold.pid}) " \
                    "#{LastWords.ended(status)}; its workers continue, #{successor}")
        end

        def never_ready(status)
          "the process that workers are forked from #{LastWords.ended(status)} " \
            "before a worker was ready"
        end

        def successor
          return "and cannot be replaced: start the server again" if @again

          "another one is started#{" in #{@back_off.left.ceil} s" if @back_off.left.positive?}"
        end

        # An error of Ruby ends the first start. A crash may not happen again.
        def mold_failed(mold, status, problem)
          return fail_with(problem) if first_start? && (mold.problem || status[:signal].nil?)

          @back_off.failed
          say_attempt(problem)
        end

        def first_start?
          !@served
        end

        def fail_with(problem)
          return if @failure

          @failure = ApplicationError.new(problem)
          cut
        end

        def ended(worker, status)
          return unless roster.all.delete(worker)

          hear_last(worker)
          reports_ended_with(worker)
          worker.control.close
          figures = worker.channel.figures
          cost = worker.channel.end
          return if worker.doom == :discarded || never_was?(worker)
          return if @reload&.lost?(worker.mold, worker_problem(worker, status), worker)
          return fail_with(worker.problem) if start_failed?(worker, status)

          log_and_count(worker, status, figures, cost)
        end

        def start_failed?(worker, status)
          crashed = status && status[:signal] && !worker.doom
          worker.problem && first_start? && !@draining && !crashed
        end

        def log_and_count(worker, status, figures, cost)
          killed = worker.doom.nil? && status && status[:signal] == Signal.list["KILL"]
          memory = killed && out_of_memory
          count(worker, figures, killed && !memory) unless @draining
          report(worker, status, cost, memory) unless @draining && LastWords.cost(cost).nil?
        end

        # Its mold ended before it forked this worker. The mold's end is reported.
        def never_was?(worker)
          worker.pid.nil? && worker.mold.ended?
        end

        # Its last messages may still be in its socket.
        def hear_last(worker)
          return if worker.silent

          worker.control.read&.each do |message|
            hear_worker(worker, message) if LAST.include?(message[:event])
          end
        end

        LAST = %w[failed ending downloads].freeze
        private_constant :LAST

        def worker_problem(worker, status)
          worker.problem || "#{worker} #{LastWords.ended(status)} before it was ready"
        end

        def report(worker, status, cost, memory)
          starting = worker.state == :starting
          return if worker.state == :retiring && status && status[:code]&.zero?

          what = starting ? worker_problem(worker, status) : "#{worker} #{LastWords.ended(status)}"
          words = [what, worker.doom && "it #{worker.doom}", memory, LastWords.cost(cost)]
          text = words.select { |part| part }.join("; ")
          starting ? say_attempt(text) : log.error(text)
        end

        def out_of_memory
          before = @oom_kills
          @oom_kills = @killed.oom_kills
          return unless @oom_kills > before

          "memory was exhausted (the kernel's count of such kills has risen)"
        end

        def say_attempt(problem)
          left = @back_off.left
          next_one = "the next attempt is in #{format("%.0f", left.ceil)} s" if left.positive?
          log.error("#{problem}; #{next_one || "the next attempt follows now"}")
        end

        # A worker that somebody has killed (SIGKILL, with memory left) tells little about the next
        # one; but the kill may have had a reason in it.
        def count(worker, figures, by_hand)
          if worker.state == :starting
            by_hand ? @back_off.short_lived : @back_off.failed
          elsif by_hand || worker.doom
            nil
          elsif worker.state == :serving && short_life?(worker, figures)
            @back_off.short_lived
          elsif worker.state == :serving
            @back_off.lasted
          end
        end

        def short_life?(worker, figures)
          now - worker.since < SHORT_S && figures[:taken].to_i <= figures[:running].to_i
        end
      end
    end
  end
end
