# frozen_string_literal: true

# Checks of the front, once a second: workers that run one fiber for too long (timeouts { worker }),
# that have grown too large (limits { worker_bytes }), or that do not finish draining (timeouts {
# retire }).

module NeverBlock
  module Cluster
    class Rounds
      # Rounds between two checks of memory.
      MEMORY_EVERY = 5
      # Seconds a stuck worker has to send its backtrace. Without an answer a call in C holds Ruby's
      # lock.
      ANSWER_S = 1.0
      # Seconds that the requests of a worker have to end when they were interrupted. As after a
      # second stop signal.
      INTERRUPTED_S = 2
      # Seconds after which a starting or draining worker is named in the log.
      LINGER_S = 60
      NS = 1_000_000_000.0
      MB = 1_048_576

      # @param supervisor [Supervisor]
      # @param settings [#[]]
      # @param processes [Processes]
      def initialize(supervisor, settings, processes)
        @supervisor = supervisor
        @stuck_s = settings[:"timeouts.worker"]
        @retire_s = settings[:"timeouts.retire"]
        @bytes_max = settings[:"limits.worker_bytes"]
        @processes = processes
        @walks = 0
      end

      # @return [void]
      def walk
        weigh = @bytes_max && ((@walks += 1) % MEMORY_EVERY).zero?
        @supervisor.roster.all.dup.each do |worker|
          check_start(worker) if worker.state == :starting
          next unless %i[serving retiring].include?(worker.state)

          check_busy(worker)
          check_memory(worker) if weigh && worker.state == :serving
          check_draining(worker) if worker.state == :retiring
        end
      end

      # Called with the backtrace of a stuck worker.
      # @param lines [Array<String>]
      # @return [void]
      def answered(worker, lines)
        return unless worker.asked && worker.doom.nil?

        end_stuck(worker, "at\n#{lines.join("\n")}")
      end

      private

      # A hook or an application may wait for ever, and a reload with it.
      def check_start(worker)
        seconds = @supervisor.now - worker.since
        return if worker.pid.nil? || worker.lingering || seconds <= LINGER_S

        worker.lingering = true
        @supervisor.log.warn("#{worker} is not ready after #{format("%.0f", seconds)} s: " \
                             "after_fork has not returned, or the application is still being " \
                             "loaded in it (preload_app false)")
      end

      def check_busy(worker)
        busy_s = worker.channel.figures[:busy_ns].to_i / NS
        return worker.asked = nil if @stuck_s.nil? || busy_s <= @stuck_s
        return if worker.doom

        if worker.asked.nil?
          worker.asked = @supervisor.now
          worker.control.tell({ do: "backtrace" })
        elsif @supervisor.now - worker.asked >= ANSWER_S
          end_stuck(worker, "its place is unknown: a call in C holds Ruby's lock, or the process " \
                            "is stopped")
        end
      end

      def end_stuck(worker, where)
        @supervisor.log.error("#{worker} has run one request for longer than " \
                              "#{format("%g", @stuck_s)} s without a pause (timeouts worker) and " \
                              "is replaced; it runs #{runs(worker)}; #{where}")
        @supervisor.kill(worker, "was stuck")
      end

      def check_memory(worker)
        bytes = worker.pid && @processes.resident_bytes(worker.pid)
        return if bytes.nil? || bytes <= @bytes_max || worker.leaving

        @supervisor.log.info("#{worker} has #{bytes / MB} MB, more than #{@bytes_max / MB} MB " \
                             "(limits worker_bytes): another worker replaces it, then it " \
                             "finishes its requests")
        worker.leaving = "grew past limits worker_bytes"
      end

      # One whose at_exit blocks run has finished.
      def check_draining(worker)
        return if worker.ending

        seconds = @supervisor.now - worker.since
        if @retire_s && seconds > @retire_s
          end_draining(worker)
        elsif seconds > LINGER_S && !worker.lingering
          worker.lingering = true
          @supervisor.log.info("#{worker} has been draining for #{format("%.0f", seconds)} s and " \
                               "still runs #{runs(worker)}")
        end
      end

      # First its requests are ended where they wait, so that their `ensure` blocks run. One that
      # computes, or waits where nothing can end it, keeps the worker.
      def end_draining(worker)
        limit = "#{format("%g", @retire_s)} s (timeouts retire)"
        if worker.interrupted.nil?
          worker.interrupted = @supervisor.now
          @supervisor.log.warn("#{worker} has not finished its requests within #{limit}: they " \
                               "are ended where they wait; it runs #{runs(worker)}")
          worker.channel.interrupt
        elsif @supervisor.now - worker.interrupted > INTERRUPTED_S
          @supervisor.kill(worker, "did not finish its requests within #{limit}")
        end
      end

      # @return [String] the request lines of what it runs, for the log
      def runs(worker) = LastWords.list(worker.channel.running.to_a)
    end
  end
end
