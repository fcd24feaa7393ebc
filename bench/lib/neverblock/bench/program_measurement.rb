# frozen_string_literal: true

module NeverBlock
  module Bench
    # One run of a program that measures itself, with the CPU time of its server and of everything
    # else on the machine.
    class ProgramMeasurement
      # Above this share of a processor, the server may have limited the rate.
      SERVER_SHARE_MAX = 0.85

      # @param run [ProgramHost::Run]
      # @param scenario [Scenario]
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat, named as in Measurement
      def take(run, scenario, settings)
        clock = read_clock(run)
        found = run.program.run(job(run, scenario, settings))
        after = read_clock(run)
        server, runner, machine, wall, program = after.zip(clock).map { |now, before| now - before }
        run.yjit = found["yjit"]
        others = [(machine - server - runner - program) / wall, 0].max
        figures(found).merge(surroundings(server / wall, others, found))
      end

      private

      def job(run, scenario, settings)
        load = scenario.load.to_h.transform_keys(&:to_s)
        load.merge("seconds" => scenario.seconds(settings),
                   "warmup_seconds" => settings.warmup_seconds, "url" => run.server&.url)
      end

      # CPU seconds of the server, of this process, of the whole machine; the time; CPU seconds of
      # ended programs.
      def read_clock(run)
        times = Process.times
        server = run.server ? run.server.tree.cpu_seconds : 0.0
        [server, times.utime + times.stime, Machine.work_seconds,
         Process.clock_gettime(Process::CLOCK_MONOTONIC), Child.cpu_seconds]
      end

      def figures(found)
        count = found.fetch("count")
        errors = found["errors"].values.sum
        kept = found.slice("seconds", "errors", "p50_us", "p90_us", "p99_us", "burst_rate",
                           "in_flight_max")
        kept.merge(
          "requests" => count, "rate" => ((count - errors) / found["seconds"]).round(2),
          "error_count" => errors, "cpu_seconds" => found["cpu_seconds"],
          "cpu_us_per_request" => count.zero? ? nil : (found["cpu_seconds"] * 1e6 / count).round(4),
          "rss_idle_bytes" => found["rss_idle_bytes"], "rss_peak_bytes" => found["rss_peak_bytes"],
          "rss_growth_bytes" => found["rss_peak_bytes"] - found["rss_idle_bytes"]
        )
      end

      def surroundings(server_share, others, found)
        { "server_cpu_share" => server_share.round(3), "others_cpu_share" => others.round(3),
          "flags" => flags(server_share, others, found) }
      end

      def flags(server_share, others, found)
        flags = [Flags.errors(found["errors"])]
        flags << "the program did nothing" if found["count"].zero?
        flags << "the server was the limit" if server_share > SERVER_SHARE_MAX
        [*flags, Flags.others(others)].compact
      end
    end
  end
end
