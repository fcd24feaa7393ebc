# frozen_string_literal: true

# What the front looks at once a second: workers that run the same fiber for too long (timeouts worker), that have grown too large (limits worker_bytes), or that do
# not come to an end (timeouts retire).

module NeverBlock
  module Cluster
    class Rounds
      # Walks between two looks at the memory of workers.
      MEMORY_EVERY = 5
      # Seconds a stuck worker has to say where it is; without an answer its lock is held by a call in C.
      ANSWER_S = 1.0
      # Seconds after which a worker that retires is named, with what it runs.
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
          look_at_start(worker) if worker.state == :starting
          next unless %i[serving retiring].include?(worker.state)

          look_at_figures(worker)
          look_at_memory(worker) if weigh && worker.state == :serving
          look_at_retirement(worker) if worker.state == :retiring
        end
      end

      # A stuck worker says where it is.
      # @param lines [Array<String>]
      # @return [void]
      def answered(worker, lines)
        return unless worker.asked && worker.doom.nil?

        end_stuck(worker, "at\n#{lines.join("\n")}")
      end

      private

      # A hook or an application that waits for something may do so for ever, and a reload with it.
      def look_at_start(worker)
        seconds = @supervisor.now - worker.since
        return if worker.pid.nil? || worker.lingering || seconds <= LINGER_S

        worker.lingering = true
        @supervisor.log.warn("#{worker} is not ready after #{format("%.0f", seconds)} s: after_fork, or loading the application in it (preload_app false), has not come to an end")
      end

      def look_at_figures(worker)
        busy_s = worker.channel.figures[:busy_ns].to_i / NS
        return worker.asked = nil if @stuck_s.nil? || busy_s <= @stuck_s
        return if worker.doom

        if worker.asked.nil?
          worker.asked = @supervisor.now
          worker.control.tell({ do: "backtrace" })
        elsif @supervisor.now - worker.asked >= ANSWER_S
          end_stuck(worker, "it does not say where: a call in C holds Ruby's lock, or the process stands still")
        end
      end

      def end_stuck(worker, where)
        runs = LastWords.list(worker.channel.running.to_a)
        @supervisor.log.error("#{worker} has run one request for longer than #{format("%g", @stuck_s)} s without a pause (timeouts worker) and is replaced; " \
                              "it runs #{runs}; #{where}")
        @supervisor.kill(worker, "was stuck")
      end

      def look_at_memory(worker)
        bytes = worker.pid && @processes.resident_bytes(worker.pid)
        return if bytes.nil? || bytes <= @bytes_max || worker.leaving

        @supervisor.log.info("#{worker} has #{bytes / MB} MB, more than #{@bytes_max / MB} MB (limits worker_bytes): another takes its place, then it ends what it runs")
        worker.leaving = "grew past limits worker_bytes"
      end

      def look_at_retirement(worker)
        seconds = @supervisor.now - worker.since
        if @retire_s && seconds > @retire_s
          @supervisor.kill(worker, "took longer than #{format("%g", @retire_s)} s to end what it ran (timeouts retire)")
        elsif seconds > LINGER_S && !worker.lingering && worker.ending.nil?
          worker.lingering = true
          @supervisor.log.info("#{worker} retires since #{format("%.0f", seconds)} s and still runs #{LastWords.list(worker.channel.running.to_a)}")
        end
      end
    end
  end
end
