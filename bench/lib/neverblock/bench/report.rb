# frozen_string_literal: true

require "fileutils"
require "json"
require "time"

module NeverBlock
  module Bench
    # All results of a claim's run, as JSON for programs (see docs/guides/benchmarks.md) and as
    # Markdown for people.
    class Report
      SCHEMA = "neverblock-bench/1"
      # Metrics of a run that get a median and a spread.
      METRICS = %w[
        rate cpu_us_per_request p50_us p90_us p99_us rss_idle_bytes rss_peak_bytes rss_growth_bytes
        error_count burst_rate in_flight_max bytes_per_client clients answered open rss_left_bytes
        rate_alone busy_share cpu_us_alone turns other_cpu_us_per_request cpu_us_over_other
        cpu_ratio kept_share p99_over_ideal p99_over_played ideal_p99_us played_p99_us late_p99_us
        slow_count slow_a_stop stops beside_count worker_share_max workers_seen max_us
        megabytes_per_second top_megabytes_per_second cpu_us_per_megabyte core_us_per_request
        core_share compared_share mean_us first_mean_us first_p50_us first_p99_us first_max_us
        waiting cold_megabytes_per_second most_rate asked_rate longest_pause_us stopped_open
        stopped_closed server_cpu_share generator_cpu_share others_cpu_share
      ].freeze
      MARKS = { met: "met", missed: "MISSED", unknown: "not measured" }.freeze

      # @param missing [Array<Hash{String => Object}>] planned runs without figures: round,
      #   scenario, server, reason
      def initialize(claim:, settings:, machine:, servers:, skipped:, runs:, started:, finished:,
                     missing: [], interrupted: false)
        @claim = claim
        @settings = settings
        @machine = machine
        @servers = servers
        @skipped = skipped
        @started = started
        @finished = finished
        @missing = missing
        @interrupted = interrupted
        @results = Results.new(runs, servers: servers.map { |server| server["name"] })
      end

      # @return [Hash{String => Object}]
      def to_h
        {
          "schema" => SCHEMA, "claim" => @claim.name, "title" => @claim.title,
          "started_at" => @started.iso8601, "finished_at" => @finished.iso8601,
          "settings" => @settings.to_h.transform_keys(&:to_s), "machine" => @machine,
          "load_generator" => @claim.load_generator, "servers" => @servers, "skipped" => @skipped,
          "scenarios" => @claim.scenarios.map { |scenario| describe(scenario) },
          "verdicts" => verdicts.map { |verdict| verdict.to_h.transform_keys(&:to_s) },
          "tables" => tables.map { |table| describe_table(table) }, "figures" => figures,
          **published, "missing" => @missing, "interrupted" => @interrupted,
          "run_count" => @results.runs.size, "flagged_runs" => @results.flagged.size,
          "runs" => @results.runs
        }
      end

      # @return [String]
      def to_markdown
        render(:to_markdown, heading: "# ", bullet: "- ")
      end

      # @return [String] for a terminal
      def to_text
        render(:to_text, heading: "", bullet: "  ")
      end

      # Writes NAME.json and NAME.md; NAME-quick.* for a quick run, which is not to be kept.
      # @param directory [String] created if missing
      # @return [Array<String>] the paths
      # @raise [Error] when they cannot be written
      def write(directory)
        FileUtils.mkdir_p(directory)
        base = File.join(directory, @settings.quick ? "#{@claim.name}-quick" : @claim.name)
        texts = { "#{base}.json" => "#{JSON.pretty_generate(to_h)}\n", "#{base}.md" => to_markdown }
        texts.each { |path, text| File.write(path, text) }.keys
      rescue SystemCallError => e
        raise Error, "cannot write the report to #{directory}: #{e.message}"
      end

      # @return [Boolean] whether a run gave no figures
      def failed?
        @results.failures.any?
      end

      # @return [Boolean] whether the measurement was ended before its last run
      def interrupted?
        @interrupted
      end

      # @return [Integer] runs that were planned and not made
      def missing_count
        @missing.size
      end

      private

      def tables
        @tables ||= @claim.tables(@results)
      end

      def describe_table(table)
        { "title" => table.title, "headers" => table.headers, "rows" => table.rows }
      end

      def published
        { "published" => @claim.published.map { |one| one.to_h.transform_keys(&:to_s) },
          "published_note" => @claim.published_note }
      end

      def verdicts
        @verdicts ||= @claim.verdicts(@results)
      end

      def describe(scenario)
        { "name" => scenario.name, "title" => scenario.title,
          "seconds" => scenario.seconds(@settings),
          **scenario.load.to_h.transform_keys(&:to_s) }
      end

      def figures
        keys = @results.servers.product(@claim.scenarios.map(&:name), METRICS)
        keys.filter_map do |server, scenario, metric|
          summary = @results.figure(server, scenario, metric) or next
          { "server" => server, "scenario" => scenario, "metric" => metric,
            **summary.to_h.transform_keys(&:to_s) }
        end
      end

      def render(table, heading:, bullet:)
        parts = ["#{heading}#{@claim.title}\n", list(conditions, bullet),
                 *tables.map { |one| one.public_send(table) }]
        parts << verdict_table.public_send(table) unless verdicts.empty?
        parts << list(warnings, bullet) unless warnings.empty?
        parts.join("\n")
      end

      def list(lines, bullet)
        "#{lines.map { |line| "#{bullet}#{line}" }.join("\n")}\n"
      end

      def conditions
        ["#{@started.strftime("%Y-%m-%d %H:%M UTC")}; rounds: #{@settings.rounds}, each of " \
         "#{@settings.seconds} s or more; all started fresh for each run, order rotated; " \
         "cells are the median (lowest..highest round)",
         "#{@machine["cores"]} cores #{@machine["cpu"]}, #{@machine["kernel"]}, " \
         "#{@machine["system"]}; #{@claim.load_generator}",
         *(["a quick look, too short to quote"] if @settings.quick),
         *(["INTERRUPTED"] if @interrupted),
         *(["missing: #{missing_count} planned runs"] if @missing.any?),
         *@servers.map { |server| server_line(server) },
         *@skipped.map { |server| "left out: #{server["name"]}: #{server["reason"]}" }]
      end

      def server_line(server)
        yjit = { true => ", YJIT", false => ", WITHOUT YJIT" }[server["yjit"]]
        version = server["version"] || "unknown"
        "#{server["name"]}: version #{version}, #{server["settings"]}#{yjit}"
      end

      def verdict_table
        rows = verdicts.map do |verdict|
          [verdict.text, verdict.limit, verdict.measured, MARKS.fetch(verdict.status)]
        end
        Table.new("Verdict", headers: %w[claim wanted measured result], rows: rows)
      end

      # Each kind of warning once, with its runs.
      def warnings
        @warnings ||= flags.group_by(&:first).map do |kind, pairs|
          "#{pairs.size} of #{@results.runs.size} runs: #{kind} (#{places(pairs.map(&:last))})"
        end
      end

      # @return [Array<Array(String, Hash)>] kind of flag and run
      def flags
        @results.flagged.flat_map { |run| run["flags"].map { |flag| [flag_kind(flag), run] } }
      end

      # A flag without the numbers that differ from run to run.
      def flag_kind(flag)
        flag.sub(/took \d+ %/, "took over #{(Flags::OTHERS_MAX * 100).round} %")
            .gsub(/(errors:|,)( \w+) \d+/, "\\1\\2")
      end

      def places(runs)
        counts = runs.map { |run| "#{run["server"]}, #{run["scenario"]}" }.tally
        all = counts.map { |place, count| count > 1 ? "#{place} x#{count}" : place }
        (all.size > 4 ? [*all.first(4), "and more"] : all).join("; ")
      end
    end
  end
end
