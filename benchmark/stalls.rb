# frozen_string_literal: true

# Measures what other requests notice of requests that do not yield, beside Puma, Iodine and Falcon.
# Requests compute, in each of the ways of an application. A thread computes. Requests wait for the
# lock of a file. Calls keep their thread, with Ruby's lock and without.
# It also measures what the watchdog costs hello world.

module NeverBlock
  module Bench
    module Claims
      # Open loops (open_loop.c) for waiting times. For CPU, closed loops by wrk, a tenth of a
      # second each in turn.
      class Stalls < Claim
        OWN = "neverblock"
        OFF = "neverblock off"
        WATCH = "neverblock watch"
        TWO = "neverblock w2"
        PEERS = ["puma 5", "iodine 5", "falcon"].freeze
        TWOS = [TWO, "puma w2 t5", "falcon w2"].freeze

        KINDS = %w[loop sort_by gsub enumerator mutex bignum].freeze
        # Where the kind makes no difference to a peer, one is enough.
        PEERS_KINDS = %w[loop mutex].freeze
        THREAD = "a thread that computes"
        BOTH = "four hogs and a thread: loop"
        FLOCK = "50 waits for a lock of a file"
        KEPT = "waiting requests beside a call without Ruby's lock"
        HELD = "beside a call with Ruby's lock, 2 workers"
        HELLO = "hello world"

        HOGS = 4
        FLOCKS = 50
        RATE = 100
        CONNECTIONS = 256
        SECONDS = 12
        SECONDS_QUICK = 4
        HELLO_SECONDS = 30
        HELLO_LIVES = 6

        P50_US_MAX = 6_000
        P99_US_MAX = 12_000
        ASIDE_P99_US_MAX = 5_000
        OTHERS_P99_US_MAX = 20_000
        KEPT_SHARE_MIN = 0.95
        # The second of the call, and the time until the requests that waited for it have run.
        KEPT_MAX_US_MAX = 1_100_000
        WATCH_RATIO_MAX = 1.01

        # The load of a kind of hogs, by name.
        def self.beside(kind)
          "four hogs: #{kind}"
        end

        # The same hogs, and by turns without slices and without anybody beside them.
        def self.turns(kind)
          "four hogs by turns: #{kind}"
        end

        def title
          "stalls: light requests, files and health beside requests that do not wait, and what " \
            "that costs, beside Puma, Iodine and Falcon"
        end

        def servers
          candidates.map(&:name)
        end

        def candidates
          own, off, two, watch = StallServers.all
          [own, watch, off, *Servers.named(PEERS), two, *Servers.named(TWOS.drop(1))]
        end

        def measurement
          FileSet.shared.entry("1KB.bin")
          MeasurementByLoad.new(Arrivals => OpenMeasurement.new, Company => CompanyMeasurement.new,
                                Turns => TurnsMeasurement.new(app: app),
                                WorkTurns => WorkTurnsMeasurement.new(app: app))
        end

        # An hour, most of it servers that do not answer.
        def resumable?
          true
        end

        def headline(figures)
          return format("%.3f of the CPU", figures["cpu_ratio"]) if figures["cpu_ratio"]

          if figures["kept_share"]
            "#{Cell.number(figures["kept_share"], digits: 2)} of the work"
          else
            super
          end
        end

        def measures?(server, scenario)
          wanted = { HELLO => [OWN, WATCH], HELD => TWOS }.fetch(scenario.name) do
            next [OWN] if scenario.load.is_a?(WorkTurns)

            kind = scenario.name[/\Afour hogs: (.*)/, 1]
            kind && !PEERS_KINDS.include?(kind) ? [OWN] : [OWN, *PEERS]
          end
          wanted.include?(server.name)
        end

        def scenarios
          [Scenario.new(name: HELLO,
                        title: "64 clients, a tenth of a second each in turn, " \
                               "with and without watch and slices",
                        load: Turns.new(load: Load.new(connections: 64), other: off,
                                        lives: HELLO_LIVES),
                        warmup: nil, seconds_min: HELLO_SECONDS, seconds_min_quick: SECONDS_QUICK),
           *KINDS.flat_map { |kind|
             [turns(kind),
              scenario(self.class.beside(kind),
                       "#{RATE} light requests a second, " \
                       "beside four clients whose requests compute",
                       hogs(kind))]
           },
           scenario(THREAD, "the same beside a thread that computes for ever",
                    Company.new(light: light, asides: asides, first: "/thread")),
           scenario(BOTH, "the same beside both", hogs("loop", first: "/thread")),
           scenario(FLOCK, "the same beside #{FLOCKS} requests that wait for a lock of a file",
                    Company.new(light: light, asides: asides, beside: "/flock", clients: FLOCKS)),
           scenario(KEPT, "#{RATE} requests a second that wait for 10 ms, beside one client " \
                          "whose requests keep their thread for a second, without Ruby's lock",
                    Company.new(light: light("/rest"), beside: "/kept", clients: 1)),
           scenario(HELD, "#{RATE} light requests a second to 2 workers, beside one client whose " \
                          "requests hold Ruby's lock for a second", light(beside: "/held"))]
        end

        def tables(results)
          [hogs_table(results), others_table(results), hello_table(results)]
        end

        def verdicts(results)
          hogs = KINDS.map { |kind| self.class.beside(kind) }
          [*waits("beside four hogs, the worst kind", results, hogs),
           *waits("beside a thread that computes, and hogs beside it", results, [THREAD, BOTH]),
           Verdict.judge("work of hogs beside light requests, " \
                         "over the same without slices and alone, the worst kind",
                         worst(KINDS.map { |kind| kept_share(results, kind) }, &:-@),
                         limit: "at least #{KEPT_SHARE_MIN} x") { |ratio| ratio >= KEPT_SHARE_MIN },
           most("beside #{FLOCKS} waits for a lock of a file: p99",
                results.figure(OWN, FLOCK, "p99_us"), OTHERS_P99_US_MAX),
           most("beside a call with Ruby's lock, 2 workers: p99",
                results.figure(TWO, HELD, "p99_us"), OTHERS_P99_US_MAX),
           most("waiting requests beside a call of a second that keeps its thread: the longest",
                results.figure(OWN, KEPT, "max_us"), KEPT_MAX_US_MAX),
           Verdict.judge("hello world: CPU a request with the watch, over without",
                         results.figure(WATCH, HELLO, "cpu_ratio"),
                         limit: "under #{WATCH_RATIO_MAX} x",
                         format: ->(summary) { Cell.ratio(summary, digits: 3) }) { |ratio|
                           ratio < WATCH_RATIO_MAX
                         },
           Verdict.no_errors(results, [OWN, TWO, WATCH], scenarios.map(&:name))]
        end

        private

        def light(path = "/", beside: nil)
          Arrivals.new(rate: RATE, path: path, connections: CONNECTIONS, beside: beside)
        end

        def asides
          [Aside.new(name: "file",
                     arrivals: Arrivals.new(rate: RATE, path: "/1KB.bin", connections: 16)),
           Aside.new(name: "health",
                     arrivals: Arrivals.new(rate: RATE, path: "/health", connections: 4),
                     admin: true)]
        end

        def hogs(kind, first: nil)
          Company.new(light: light, beside: "/hog/#{kind}", clients: HOGS, asides: asides,
                      first: first)
        end

        def turns(kind)
          scenario(self.class.turns(kind), "the same, and by turns without slices and alone",
                   WorkTurns.new(company: hogs(kind), other: off))
        end

        def off
          candidates.find { |server| server.name == OFF }
        end

        def scenario(name, title, load)
          Scenario.new(name: name, title: title, load: load, seconds_min: SECONDS,
                       seconds_min_quick: SECONDS_QUICK)
        end

        def kept_share(results, kind)
          results.figure(OWN, self.class.turns(kind), "kept_share")
        end

        def worst(summaries)
          summaries.compact.max_by do |summary|
            block_given? ? yield(summary.median) : summary.median
          end
        end

        def most(text, summary, limit_us)
          Verdict.judge("#{text}, ms", summary, limit: "under #{limit_us / 1000}",
                        format: Cell.method(:millis)) { |us| us < limit_us }
        end

        def waits(text, results, names)
          { "p50_us" => P50_US_MAX, "p99_us" => P99_US_MAX, "file_p99_us" => ASIDE_P99_US_MAX,
            "health_p99_us" => ASIDE_P99_US_MAX }.map do |metric, limit_us|
            most("#{text}: #{metric.delete_suffix("_us").tr("_", " ")}",
                 worst(names.map { |name| results.figure(OWN, name, metric) }), limit_us)
          end
        end

        def hogs_table(results)
          names = KINDS.map { |kind| [kind, self.class.beside(kind)] } <<
                  ["loop, and a thread", BOTH]
          rows = names.flat_map do |kind, name|
            measured(results, name).map do |server|
              [server, kind, *cells(results, server, name),
               Cell.spread(results.figure(server, name, "beside_count")),
               server == OWN ? Cell.ratio(kept_share(results, kind)) : Cell::NONE,
               Cell.number(results.errors(server, name))]
            end
          end
          Table.new("#{RATE} light requests a second, as many for a file and for health, beside " \
                    "four clients whose requests compute for half a second each",
                    headers: ["server", "hogs", "p50 ms", "p99", "longest", "file p99",
                              "health p99", "hogs done", "work kept", "not answered"], rows: rows)
        end

        def others_table(results)
          rows = [THREAD, FLOCK, KEPT, HELD].flat_map do |name|
            measured(results, name).map do |server|
              [server, name, *cells(results, server, name),
               Cell.number(results.errors(server, name))]
            end
          end
          Table.new("#{RATE} light requests a second beside what else keeps a thread",
                    headers: ["server", "beside", "p50 ms", "p99", "longest", "file p99",
                              "health p99", "not answered"], rows: rows)
        end

        def hello_table(results)
          rows = { OWN => "watch, slices and spares", WATCH => "watch" }.filter_map do |server, has|
            own, other, ratio, requests =
              %w[cpu_us_per_request other_cpu_us_per_request cpu_ratio requests].map do |metric|
                results.figure(server, HELLO, metric)
              end
            next unless ratio

            [server, has, Cell.micros(own), Cell.micros(other), Cell.ratio(ratio, digits: 3),
             Cell.spread(requests)]
          end
          Table.new("Hello world, 64 clients, a tenth of a second each in turn, #{HELLO_LIVES} " \
                    "lives in each round: what being looked after costs",
                    headers: ["server", "has", "CPU us/request", "#{OFF}'s", "over it", "requests"],
                    rows: rows)
        end

        def measured(results, name)
          results.servers.select { |server| results.errors(server, name) }
        end

        def cells(results, server, name)
          %w[p50_us p99_us max_us file_p99_us health_p99_us].map do |metric|
            Cell.millis(results.figure(server, name, metric), digits: 2)
          end
        end
      end
    end
  end
end
