# frozen_string_literal: true

require "digest"
require "net/http"
require "uri"

module NeverBlock
  module Bench
    # One run: a fresh server on the last core. Each file is fetched once and its MD5 is checked.
    # Then many clients download on the other cores. The server's CPU time and memory are taken over
    # the counted seconds.
    class DownloadMeasurement
      # A standstill of the clients, in microseconds, that makes the run worthless.
      STANDSTILL_US = 1_000_000

      # @param clients [#run] DownloadClients
      # @param files [#entry] FileSet
      # @param cores [#give_tree]
      def initialize(clients: DownloadClients.new, files: FileSet.shared, cores: Cores)
        @clients = clients
        @files = files
        @cores = cores
      end

      # All servers get the same files in the same order.
      # @param process [ServerProcess] just started
      # @param scenario [Scenario] its load is a Crowd; its warm-up is the ramp-up
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat
      def take(process, scenario, settings)
        load = scenario.load
        entries = load.names(settings.quick).map { |name| @files.entry(name) }
        @cores.give_tree(process.tree)
        entries.each { |entry| check(process.url, entry) }
        idle = process.tree.rss_bytes
        outcome, spent, peak = watched(process) do |counting|
          @clients.run(load, entries: entries, url: process.url,
                             ramp: scenario.warmup_seconds(settings),
                             seconds: scenario.seconds(settings), &counting)
        end
        raise Error, "the server ended under load: #{process.last_words}" unless process.alive?

        memory = { "rss_idle_bytes" => idle, "rss_peak_bytes" => peak,
                   "rss_growth_bytes" => peak - idle }
        figures(outcome, spent, ended(outcome, entries)).merge(memory)
      end

      private

      # Downloads each file once by another client, and compares it.
      def check(url, entry)
        answer = Net::HTTP.get_response(URI("#{url}#{entry.url}"))
        return if answer.is_a?(Net::HTTPOK) && same?(answer.body, entry.disk)

        raise Error, "#{entry.url}: status #{answer.code}, #{answer.body.to_s.bytesize} bytes " \
                     "that differ from the file"
      rescue SystemCallError, IOError, Timeout::Error, Net::ProtocolError => e
        raise Error, "#{entry.url}: #{e.message}"
      end

      def same?(body, path)
        Digest::MD5.hexdigest(body) == Digest::MD5.file(path).hexdigest
      end

      def watched(process)
        before = nil
        outcome, peak = MemoryWatch.new(process.tree).during do
          yield -> { before = clocks(process) }
        end
        raise Error, "the clients never started" unless before

        [outcome, clocks(process).zip(before).map { |after, at| after - at }, peak]
      end

      # CPU seconds of the server, of this process, of the whole machine, of the server's core; the
      # time.
      def clocks(process)
        times = Process.times
        [process.tree.cpu_seconds, times.utime + times.stime, Machine.work_seconds,
         Machine.core_seconds(Cores.servers), Process.clock_gettime(Process::CLOCK_MONOTONIC)]
      end

      # Number of ended downloads. For a single file, parts of downloads count too: with large files
      # many are in progress when counting starts and ends.
      def ended(outcome, entries)
        entries.one? ? outcome.bytes / File.size(entries.first.disk).to_f : outcome.requests
      end

      def figures(outcome, spent, ended)
        server, runner, machine, core, wall = spent
        per_second = outcome.seconds / wall * 1e6
        generator = outcome.cpu_us / 1e6 / outcome.seconds
        others = [((machine - server - runner) / wall) - generator, 0].max
        counted(outcome).merge(
          "rate" => (ended / outcome.seconds).round(2),
          "server_cpu_share" => (server / wall).round(4),
          "cpu_us_per_request" => over(server * per_second, ended),
          "core_us_per_request" => over(core * per_second, ended),
          "core_share" => (core / wall).round(4),
          "cpu_us_per_megabyte" => over(server * per_second, outcome.bytes / 1e6),
          "generator_cpu_share" => generator.round(4), "others_cpu_share" => others.round(3),
          "flags" => flags(outcome, generator, others)
        )
      end

      def counted(outcome)
        { "requests" => outcome.requests, "seconds" => outcome.seconds,
          "megabytes_per_second" => (outcome.bytes / 1e6 / outcome.seconds).round(3),
          "top_megabytes_per_second" => over(outcome.top_bytes, outcome.top_us, 4),
          "compared_share" => over(outcome.compared_bytes, outcome.bytes, 4),
          "errors" => outcome.errors, "error_count" => outcome.error_count,
          "faults" => outcome.faults, **latencies(outcome.first_us, outcome.whole_us),
          "by_file" => outcome.by_file, "waiting" => outcome.waiting,
          "longest_pause_us" => outcome.longest_pause_us,
          "stopped_open" => outcome.stopped_open, "stopped_closed" => outcome.stopped_closed }
      end

      def latencies(first, whole)
        { "first_mean_us" => first["mean"], "first_p50_us" => first["p50"],
          "first_p99_us" => first["p99"], "first_max_us" => first["max"],
          "mean_us" => whole["mean"], "p50_us" => whole["p50"], "p90_us" => whole["p90"],
          "p99_us" => whole["p99"], "max_us" => whole["max"] }
      end

      def over(value, count, digits = 3)
        count.zero? ? nil : (value / count.to_f).round(digits)
      end

      def flags(outcome, generator, others)
        found = [Flags.errors(outcome.errors)]
        if outcome.standstill_us >= STANDSTILL_US
          seconds = outcome.standstill_us / 1_000_000
          found << "the clients stood still for #{seconds} s: measure again"
        end
        found << "the clients were the limit" if generator > Measurement::GENERATOR_SHARE_MAX
        [*found, Flags.others(others)].compact
      end
    end
  end
end
