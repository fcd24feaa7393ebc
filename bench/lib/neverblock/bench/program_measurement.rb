# frozen_string_literal: true

module NeverBlock
  module Bench
    # One run of a program that measures itself; beside it the CPU time of the server it asked and of everything else on the machine.
    class ProgramMeasurement
      # Above this share of a processor the server, not the program, may have set the rate.
      SERVER_SHARE_MAX = 0.85

      # @param run [ProgramHost::Run]
      # @param scenario [Scenario]
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat, named as Measurement names them
      def take(run, scenario, settings)
        clock = read_clock(run)
        found = run.program.run(job(run, scenario, settings))
        server, runner, machine, wall, program = read_clock(run).map.with_index { |value, index| value - clock[index] }
        run.yjit = found["yjit"]
        figures(found).merge(surroundings(server / wall, [(machine - server - runner - program) / wall, 0].max, found))
      end

      private

      def job(run, scenario, settings)
        load = scenario.load.to_h.transform_keys(&:to_s)
        load.merge("seconds" => scenario.seconds(settings), "warmup_seconds" => settings.warmup_seconds, "url" => run.server&.url)
      end

      # CPU seconds of the server, of this process, of the whole machine; the time; CPU seconds of ended programs.
      def read_clock(run)
        times = Process.times
        [run.server ? run.server.tree.cpu_seconds : 0.0, times.utime + times.stime, Machine.work_seconds,
         Process.clock_gettime(Process::CLOCK_MONOTONIC), Child.cpu_seconds]
      end

      def figures(found)
        count = found.fetch("count")
        found.slice("seconds", "errors", "p50_us", "p90_us", "p99_us", "burst_rate", "in_flight_max").merge(
          "requests" => count, "rate" => ((count - found["errors"].values.sum) / found["seconds"]).round(2),
          "error_count" => found["errors"].values.sum, "cpu_seconds" => found["cpu_seconds"],
          "cpu_us_per_request" => count.zero? ? nil : (found["cpu_seconds"] * 1e6 / count).round(4),
          "rss_idle_bytes" => found["rss_idle_bytes"], "rss_peak_bytes" => found["rss_peak_bytes"],
          "rss_growth_bytes" => found["rss_peak_bytes"] - found["rss_idle_bytes"]
        )
      end

      def surroundings(server_share, others, found)
        { "server_cpu_share" => server_share.round(3), "others_cpu_share" => others.round(3), "flags" => flags(server_share, others, found) }
      end

      def flags(server_share, others, found)
        flags = [Flags.errors(found["errors"])]
        flags << "nothing was done" if found["count"].zero?
        flags << "the server was the limit" if server_share > SERVER_SHARE_MAX
        [*flags, Flags.others(others)].compact
      end
    end
  end
end
