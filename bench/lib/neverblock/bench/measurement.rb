# frozen_string_literal: true

module NeverBlock
  module Bench
    # One run: a fresh server, a warm-up, then the load. The server's CPU time and memory are taken
    # around it.
    class Measurement
      # Above this share of its threads' time, the load generator limits the rate.
      GENERATOR_SHARE_MAX = 0.95

      # @param load_generator [Wrk] has run(load, url:, seconds:)
      def initialize(load_generator: Wrk.new)
        @load_generator = load_generator
      end

      # @param process [ServerProcess] just started
      # @param scenario [Scenario]
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat; the keys tell the units
      def take(process, scenario, settings)
        idle = process.tree.rss_bytes
        @load_generator.run(scenario.warmup, url: address(process),
                                             seconds: scenario.warmup_seconds(settings))
        clock = read_clock(process)
        outcome, peak = MemoryWatch.new(process.tree).during do
          @load_generator.run(scenario.load, url: address(process),
                                             seconds: scenario.seconds(settings))
        end
        spent = read_clock(process).map.with_index { |value, index| value - clock[index] }
        raise Error, "the server ended under load: #{process.last_words}" unless process.alive?

        figures(outcome, spent, scenario).merge(memory(idle, peak))
      end

      private

      def address(process) = process.url

      # CPU seconds of the server, of this process (sampling), of the whole machine; then the time.
      def read_clock(process)
        times = Process.times
        [process.tree.cpu_seconds, times.utime + times.stime, Machine.work_seconds,
         Process.clock_gettime(Process::CLOCK_MONOTONIC)]
      end

      def figures(outcome, spent, scenario)
        server, runner, machine, wall = spent
        generator_share = outcome.cpu_seconds / (outcome.seconds * scenario.load.threads)
        others = [(machine - server - runner - outcome.cpu_seconds) / wall, 0].max
        counted(outcome).merge(
          "server_cpu_seconds" => server.round(3), "server_cpu_share" => (server / wall).round(3),
          "cpu_us_per_request" => cpu_us_each(server, outcome.requests),
          "generator_cpu_share" => generator_share.round(3), "others_cpu_share" => others.round(3),
          "flags" => flags(outcome, generator_share, others)
        )
      end

      def cpu_us_each(seconds, requests)
        (seconds * 1e6 / requests).round(3) unless requests.zero?
      end

      def counted(outcome)
        {
          "requests" => outcome.requests, "seconds" => outcome.seconds.round(6),
          "rate" => outcome.rate.round(2), "bytes_per_request" => bytes_each(outcome),
          "errors" => outcome.errors, "error_count" => outcome.error_count,
          **latencies(outcome.latency_us)
        }
      end

      def bytes_each(outcome)
        (outcome.bytes.to_f / outcome.requests).round(1) unless outcome.requests.zero?
      end

      def latencies(latency)
        { "p50_us" => latency["p50"], "p90_us" => latency["p90"], "p99_us" => latency["p99"],
          "p99_9_us" => latency["p99.9"], "max_us" => latency["max"], "mean_us" => latency["mean"] }
      end

      def memory(idle, peak)
        { "rss_idle_bytes" => idle, "rss_peak_bytes" => peak, "rss_growth_bytes" => peak - idle }
      end

      def flags(outcome, generator_share, others)
        found = [Flags.errors(outcome.errors)]
        found << "no request was answered" if outcome.requests.zero?
        found << "the load generator was the limit" if generator_share > GENERATOR_SHARE_MAX
        [*found, Flags.others(others)].compact
      end
    end
  end
end
