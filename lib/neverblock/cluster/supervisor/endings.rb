# frozen_string_literal: true

# How molds and workers end: who notices, what is freed, what is said in the log, and whether the next one has to wait.

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

        # Its mold is gone, or has other things to do than to tell how it ended.
        def look_at_silent(worker)
          if worker.mold.ended?
            ended(worker, nil) unless worker.pid && @processes.alive?(worker.pid)
          elsif worker.pid && now - worker.silent > HEARSAY_S
            @processes.remains(worker.pid)&.then { |status| ended(worker, status) }
          end
        end

        # It cannot be heard, and nobody says that it has ended: its socket was closed by the application, or its mold stands still.
        def bury_if_lost(worker)
          return unless worker.silent && now - worker.silent > SILENT_S

          @processes.kill(worker.pid)
          ended(worker, nil) if worker.mold.ended? || now - worker.silent > 2 * SILENT_S
        end

        def mold_ended(mold, status)
          mold.control.read&.each { |message| hear_mold(mold, message) } unless mold.silent
          was = mold.state
          mold.state = :ended
          mold.control.close
          mold.silent ||= now
          @molds.delete(mold)
          @mold = nil if @mold.equal?(mold)
          return if @draining || mold.quits || @reload&.lost?(mold, mold_problem_of(mold, status))

          was == :loaded ? mold_lost(mold, status) : mold_failed(mold, status)
        end

        def mold_problem_of(mold, status)
          mold.problem || "the process that loads the application #{LastWords.ended(status)} before it had done so; what it wrote itself stands in the log"
        end

        # One that has ended itself before any worker of it was ready (a hook before the fork, say) would do so again.
        def mold_lost(mold, status)
          unless mold.proven || status[:signal] == Signal.list["KILL"]
            return fail_with("the process that workers are forked from #{LastWords.ended(status)} before one was ready") if first_start? && status[:signal].nil?

            @back_off.failed
          end
          log.error("the process that workers are forked from (#{mold.pid}) #{LastWords.ended(status)}; its workers go on, " \
                    "#{@again ? "and cannot be replaced: start the server again" : "another takes its place#{" in #{@back_off.left.ceil} s" if @back_off.left.positive?}"}")
        end

        # The first start has failed when Ruby says so; what only the system knows of (a crash) may be better the next time.
        def mold_failed(mold, status)
          problem = mold_problem_of(mold, status)
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
          return if worker.doom == :discarded || never_was?(worker) || @reload&.lost?(worker.mold, worker_problem(worker, status), worker)
          return fail_with(worker.problem) if worker.problem && first_start? && !@draining && !(status && status[:signal])

          killed = worker.doom.nil? && status && status[:signal] == Signal.list["KILL"]
          memory = killed && out_of_memory
          count(worker, figures, killed && !memory) unless @draining
          report(worker, status, cost, memory) unless @draining && LastWords.cost(cost).nil?
        end

        # Its mold has ended, and was reported, before it forked this one.
        def never_was?(worker)
          worker.pid.nil? && worker.mold.ended?
        end

        # What it said before it ended may still wait in its socket.
        def hear_last(worker)
          worker.control.read&.each { |message| hear_worker(worker, message) if %w[failed ending downloads].include?(message[:event]) } unless worker.silent
        end

        def worker_problem(worker, status)
          worker.problem || "#{worker} #{LastWords.ended(status)} before it was ready"
        end

        def report(worker, status, cost, memory)
          clean = status && status[:code]&.zero?
          return if worker.state == :retiring && clean

          words = [worker.state == :starting ? worker_problem(worker, status) : "#{worker} #{LastWords.ended(status)}", worker.doom && "it #{worker.doom}",
                   memory, LastWords.cost(cost)].select { |part| part }
          worker.state == :starting ? say_attempt(words.join("; ")) : log.error(words.join("; "))
        end

        def out_of_memory
          before = @oom_kills
          @oom_kills = @killed.oom_kills
          "memory had run out (the kernel's count of such kills has risen)" if @oom_kills > before
        end

        def say_attempt(problem)
          left = @back_off.left
          log.error("#{problem}; #{left.positive? ? "the next attempt is in #{format("%.0f", left.ceil)} s" : "it is tried again now"}")
        end

        # One that somebody has killed (SIGKILL, with memory left) says little about the next; but it may have been itself.
        def count(worker, figures, by_hand)
          if worker.state == :starting
            by_hand ? @back_off.short_lived : @back_off.failed
          elsif by_hand || worker.doom
            nil
          elsif worker.state == :serving && now - worker.since < SHORT_S && figures[:taken].to_i <= figures[:running].to_i
            @back_off.short_lived
          elsif worker.state == :serving
            @back_off.lasted
          end
        end
      end
    end
  end
end
