# frozen_string_literal: true

require "time"

module NeverBlock
  module Bench
    # Runs a claim. It prepares the servers, and skips those that cannot run here, with the reason.
    # Then each round runs each scenario on each server, in rotated order, each server started
    # fresh.
    class Runner
      # @param claim [Claim]
      # @param settings [Settings]
      # @param progress [Progress]
      # @param servers [Array<Server, Program>] candidates, in the order of the tables
      # @param measurement [#take] takes a process, a scenario and settings (Measurement,
      #   ProgramMeasurement)
      # @param host [#run] starts a candidate and yields its process (ServerProcess, ProgramHost)
      # @param journal [Journal] finished runs of an interrupted measurement
      def initialize(claim, settings:, progress:, servers: claim.candidates,
                     measurement: claim.measurement, host: claim.host, journal: Journal.none)
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
      # @raise [Error] when no server can run
      def run
        started = Time.now.utc
        machine = Machine.describe
        servers = prepare
        raise Error, "#{@claim.name}: nothing to measure (#{skipped_text})" if servers.empty?

        say_plan(servers)
        runs = (1..@settings.rounds).flat_map { |round| run_round(round, servers) }
        Report.new(claim: @claim, settings: @settings, machine: machine,
                   servers: servers.map { |server| described(server) }, skipped: @skipped,
                   runs: runs, started: started, finished: Time.now.utc)
      end

      private

      def say_plan(servers)
        @progress.say("#{@claim.name}: #{servers.size} candidates, #{@claim.scenarios.size} " \
                      "loads, #{@settings.rounds} rounds, about #{estimate(servers)}")
        return unless @journal.size.positive?

        @progress.say("#{@claim.name}: continuing with #{@journal.size} runs of " \
                      "#{@journal.path}; remove that file to start anew")
      end

      def prepare
        @candidates.select do |server|
          server.prepare { |text| @progress.say("#{@claim.name}: #{server.name}: #{text}") }
          true
        rescue Error => e
          reason = from_root(e.message)
          @skipped << { "name" => server.name, "reason" => reason }
          @progress.say("#{@claim.name}: #{server.name} is skipped: #{reason}")
          false
        end
      end

      def run_round(round, servers)
        @claim.scenarios.flat_map do |scenario|
          order = Rotation.order(servers, round)
          able = order.select { |server| @claim.measures?(server, scenario) }
          able.map { |server| once(round, scenario, server) }
        end
      end

      # Takes finished runs from the journal. Failed ones are repeated.
      def once(round, scenario, server)
        finished = @journal.find(round, scenario.name, server.name)
        if finished
          @seen[server.name] ||= finished.seen
          return finished.run
        end

        run = run_one(round, scenario, server)
        @journal.add(run, @seen[server.name]) unless run["failed"]
        run
      end

      def run_one(round, scenario, server)
        place = { "round" => round, "scenario" => scenario.name, "server" => server.name,
                  "at" => Time.now.utc.iso8601 }
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
        where = format("%-8s round %d/%d  %-28s %-17s", @claim.name, place["round"],
                       @settings.rounds, place["scenario"], place["server"])
        @progress.say("#{where} #{[text, *flags].join("; ")}")
      end

      # Version and command line; paths inside the checkout are shortened.
      def described(server)
        seen = @seen.fetch(server.name, {})
        { "name" => server.name, "version" => server.version, "settings" => server.settings,
          "yjit" => seen["yjit"],
          "command" => seen["command"]&.map { |word| without_folders(word) } }
      end

      def without_folders(word)
        from_root(word).gsub(%r{\S*/neverblock-bench[^/]*}, "TMP")
      end

      def from_root(text)
        text.gsub("#{ROOT}/", "")
      end

      def skipped_text
        @skipped.map { |server| "#{server["name"]}: #{server["reason"]}" }.join("; ")
      end

      def estimate(servers)
        one = @claim.scenarios.sum do |scenario|
          scenario.seconds(@settings) + scenario.warmup_seconds(@settings) + @claim.overhead_seconds
        end
        Progress.duration(one * servers.size * @settings.rounds)
      end
    end
  end
end
