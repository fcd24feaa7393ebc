# frozen_string_literal: true

require "time"

module NeverBlock
  module Bench
    # Runs a claim: prepares its servers (leaving out those that are not there, with the reason), then for every round and scenario every
    # server once, in rotated order, each started fresh.
    class Runner
      # @param claim [Claim]
      # @param settings [Settings]
      # @param progress [Progress]
      # @param servers [Array<Server, Program>] candidates, in the order of the tables
      # @param measurement [#take] takes a process, a scenario and settings (Measurement, ProgramMeasurement)
      # @param host [#run] starts a candidate and yields its process (ServerProcess, ProgramHost)
      # @param journal [Journal] of what an interrupted run has left
      def initialize(claim, settings:, progress:, servers: claim.candidates, measurement: claim.measurement, host: claim.host, journal: Journal.none)
        @claim = claim
        @settings = settings
        @progress = progress
        @candidates = servers
        @measurement = measurement
        @host = host
        @journal = journal
        @skipped = []
        @seen = {}
      end

      # @return [Report]
      # @raise [Error] when no server can be run
      def run
        started = Time.now.utc
        machine = Machine.describe
        servers = prepare
        raise Error, "#{@claim.name}: nothing to measure (#{skipped_text})" if servers.empty?

        @progress.say("#{@claim.name}: #{servers.size} candidates, #{@claim.scenarios.size} loads, #{@settings.rounds} rounds, about #{estimate(servers)}")
        @progress.say("#{@claim.name}: going on: #{@journal.size} runs are in #{@journal.path}; without that file all begins anew") if @journal.size.positive?
        runs = (1..@settings.rounds).flat_map { |round| run_round(round, servers) }
        Report.new(claim: @claim, settings: @settings, machine: machine, servers: servers.map { |server| described(server) },
                   skipped: @skipped, runs: runs, started: started, finished: Time.now.utc)
      end

      private

      def prepare
        @candidates.select do |server|
          server.prepare { |text| @progress.say("#{@claim.name}: #{server.name}: #{text}") }
          true
        rescue Error => e
          reason = from_root(e.message)
          @skipped << { "name" => server.name, "reason" => reason }
          @progress.say("#{@claim.name}: #{server.name} is left out: #{reason}")
          false
        end
      end

      def run_round(round, servers)
        @claim.scenarios.flat_map do |scenario|
          Rotation.order(servers, round).select { |server| @claim.measures?(server, scenario) }.map { |server| once(round, scenario, server) }
        end
      end

      # What an interrupted run has done is not done again; what failed is.
      def once(round, scenario, server)
        kept = @journal.find(round, scenario.name, server.name)
        if kept
          @seen[server.name] ||= kept.seen
          return kept.run
        end

        run_one(round, scenario, server).tap { |run| @journal.add(run, @seen[server.name]) unless run["failed"] }
      end

      def run_one(round, scenario, server)
        place = { "round" => round, "scenario" => scenario.name, "server" => server.name, "at" => Time.now.utc.iso8601 }
        figures = @host.run(server, app: @claim.app, path: @claim.probe_path) do |process|
          @measurement.take(process, scenario, @settings).tap do
            @seen[server.name] ||= { "command" => process.command, "yjit" => process.yjit }
          end
        end
        say(place, @claim.headline(figures), figures["flags"])
        place.merge(figures)
      rescue Error => e
        reason = from_root(e.message)
        say(place, "failed: #{reason}", [])
        place.merge("failed" => reason, "flags" => ["failed: #{reason}"])
      end

      def say(place, text, flags)
        @progress.say(format("%-8s round %d/%d  %-28s %-17s %s", @claim.name, place["round"], @settings.rounds, place["scenario"],
                             place["server"], [text, *flags].join("; ")))
      end

      # Versions and command lines; paths inside the checkout are shown from its root.
      def described(server)
        seen = @seen.fetch(server.name, {})
        { "name" => server.name, "version" => server.version, "settings" => server.settings, "yjit" => seen["yjit"],
          "command" => seen["command"]&.map { |word| from_root(word).gsub(%r{\S*/neverblock-bench[^/]*}, "TMP") } }
      end

      def from_root(text)
        text.gsub("#{ROOT}/", "")
      end

      def skipped_text
        @skipped.map { |server| "#{server["name"]}: #{server["reason"]}" }.join("; ")
      end

      def estimate(servers)
        one = @claim.scenarios.sum { |scenario| scenario.seconds(@settings) + scenario.warmup_seconds(@settings) + @claim.overhead_seconds }
        Progress.duration(one * servers.size * @settings.rounds)
      end
    end
  end
end
