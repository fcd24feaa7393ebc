# frozen_string_literal: true

require "neverblock/verbs/deadline"
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
      # @param scenarios [Array<Scenario>] the measured loads of the claim
      # @param time_left [TimeLeft, nil] of this and the following claims
      def initialize(claim, settings:, progress:, servers: claim.candidates,
                     measurement: claim.measurement, host: claim.host, journal: Journal.none,
                     scenarios: claim.scenarios, time_left: nil)
        @claim = claim
        @settings = settings
        @progress = progress
        @candidates = servers
        @measurement = measurement
        @host = host
        @journal = journal
        @plan = Plan.new(claim, settings: settings, servers: servers, scenarios: scenarios)
        @time_left = time_left || TimeLeft.new(@plan.seconds)
        @skipped = []
        @runs = []
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
        places = places(servers)
        measure(places)
        Report.new(claim: @claim, settings: @settings, machine: machine,
                   servers: servers.map { |server| described(server) }, skipped: @skipped,
                   runs: @runs, started: started, finished: Time.now.utc,
                   missing: left_out(servers) + not_reached(places), interrupted: @interrupted)
      end

      private

      # An interruption ends the measurement; what is done is kept.
      def measure(places)
        places.each { |place| @runs << once(*place) }
      rescue Interrupt
        raise if @runs.empty?

        @interrupted = true
      end

      def not_reached(places)
        places.drop(@runs.size).map { |place| missing(*place, "interrupted") }
      end

      # Runs of the claim's other loads.
      def left_out(servers)
        names = @plan.scenarios.map(&:name)
        others = @claim.scenarios.reject { |scenario| names.include?(scenario.name) }
        places(servers, others).map { |place| missing(*place, "left out of a quick look at all") }
      end

      def missing(round, scenario, server, reason)
        { "round" => round, "scenario" => scenario.name, "server" => server.name,
          "reason" => reason }
      end

      def say_plan(servers)
        @progress.say("#{@claim.name}: #{servers.size} candidates, #{@plan.scenarios.size} " \
                      "loads, #{@settings.rounds} rounds, about " \
                      "#{Progress.duration(@plan.seconds(servers))}")
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
          @time_left.drop(@plan.seconds([server]))
          @progress.say("#{@claim.name}: #{server.name} is skipped: #{reason}")
          false
        end
      end

      # @return [Array<Array(Integer, Scenario, Server)>] in the order of the runs
      def places(servers, scenarios = @plan.scenarios)
        (1..@settings.rounds).to_a.product(scenarios).flat_map do |round, scenario|
          order = Rotation.order(servers, round)
          able = order.select { |server| @claim.measures?(server, scenario) }
          able.map { |server| [round, scenario, server] }
        end
      end

      # Takes finished runs from the journal. Failed ones are repeated.
      def once(round, scenario, server)
        finished = @journal.find(round, scenario.name, server.name)
        if finished
          @seen[server.name] ||= finished.seen
          @time_left.drop(@plan.run_seconds(scenario))
          return finished.run
        end

        run = run_one(round, scenario, server)
        @journal.add(run, @seen[server.name]) unless run["failed"]
        run
      end

      def run_one(round, scenario, server)
        start = Deadline.now
        place = { "round" => round, "scenario" => scenario.name, "server" => server.name,
                  "at" => Time.now.utc.iso8601 }
        figures = @host.run(server, app: @claim.app, path: @claim.probe_path) do |process|
          @measurement.take(process, scenario, @settings).tap do
            @seen[server.name] ||= { "command" => process.command, "yjit" => process.yjit }
          end
        end
        count(scenario, start)
        say(place, @claim.headline(figures), figures["flags"])
        place.merge(figures)
      rescue Error => e
        reason = from_root(e.message)
        count(scenario, start)
        say(place, "failed: #{reason}", [])
        place.merge("failed" => reason, "flags" => ["failed: #{reason}"])
      end

      def count(scenario, start)
        @time_left.done(@plan.run_seconds(scenario), Deadline.now - start)
      end

      def say(place, text, flags)
        where = format("%-8s round %d/%d  %-28s %-17s", @claim.name, place["round"],
                       @settings.rounds, place["scenario"], place["server"])
        @progress.say("#{where} #{[text, *flags].join("; ")} (#{@time_left})")
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
    end
  end
end
