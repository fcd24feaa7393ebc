# frozen_string_literal: true

# Measures Rails on PostgreSQL as table N2 of 2008 did: a pool of 12, and a query of a second in
# some share of the requests, or in all requests of 10 clients. Short queries and a page of fifty
# rows through ActiveRecord and ERB show what that must not cost.
# The peers are Puma (with as many threads as connections, and with workers) and Falcon.
# The last table has 16 connections: 16 Puma workers of one thread, beside as few processes of
# NeverBlock as reach their throughput. That is one process where requests wait and two where they
# compute.

require_relative "../test/support/services"

module NeverBlock
  module Bench
    module Claims
      class Rails < Claim
        include DatabaseClaim

        GEMS = "rails"
        OWN = "neverblock"
        POOL = 12
        ONE = "neverblock w1"
        TWO = "neverblock w2"
        SIXTEEN = "puma w16 t1"
        CONNECTIONS = 16
        MIXES = [200, 100, 50, 20, 10].freeze

        TEN = "10 clients, all sleep 1 s"
        SHORT = "short queries, 200 clients"
        LIST = "a page of 50 rows, 200 clients"
        HEAVY = "1 : 10, 200 clients"
        CROWD = "1 : 10, 1000 clients"
        CPU_BOUND = [SHORT, LIST].freeze

        TEN_MIN = 9.5
        HEAVY_MIN = 116
        MEMORY_SHARE_MAX = 0.175
        # Where both give all that the connections allow.
        SAME_MIN = 0.99

        def title
          "rails: Rails on PostgreSQL, queries that sleep now and then (table N2), short " \
            "queries, a page; memory beside 16 Puma workers"
        end

        def candidates
          @candidates ||= super + Servers.workers_with_database(own: [1, 2], puma: 16,
                                                                pool: CONNECTIONS, gems: GEMS,
                                                                &method(:environment))
        end

        def probe_path
          "/hello"
        end

        # Answers of a sleeping query come in steps of a second, so a run has to be many steps long.
        def scenarios
          [scenario(TEN, 10, "/sleep", 60, 8), scenario(SHORT, 200, "/short"),
           scenario(LIST, 200, "/list"),
           *MIXES.map { |every|
             scenario("1 : #{every}, 200 clients", 200, "/every/#{every}", 20, 5)
           },
           scenario(CROWD, 1000, "/every/10", 20, 8)]
        end

        def measures?(server, scenario)
          return scenario.name == HEAVY if server.name == ONE
          return [HEAVY, *CPU_BOUND].include?(scenario.name) if [TWO, SIXTEEN].include?(server.name)

          true
        end

        def published
          { "2008: Rails, blocking" => 0.98, "2008: NeverBlock" => 9.30 }.map do |name, rate|
            Published.new(scenario: TEN, metric: "rate", name: name, value: rate)
          end
        end

        def tables(results)
          [rates_table(results), cost_table(results), memory_table(results)]
        end

        def verdicts(results)
          [at_least(results, TEN, TEN_MIN), at_least(results, HEAVY, HEAVY_MIN),
           at_least(results, CROWD, HEAVY_MIN),
           *CPU_BOUND.flat_map { |name| work_verdicts(results, name) },
           *memory_verdicts(results), Verdict.no_errors(results, OWN, scenarios.map(&:name))]
        end

        private

        def environment(share)
          { "DATABASE_URL" => "#{Services.postgresql.url}?sslmode=disable&pool=#{share}" \
                              "&checkout_timeout=60",
            "RAILS_MAX_THREADS" => share.to_s }
        end

        # The warm-up never sleeps.
        def scenario(name, clients, path, seconds = 0, quick = 0)
          warmup = Load.new(connections: [clients, 64].min, path: path == "/list" ? path : "/short")
          Scenario.new(name: name, title: name, load: Load.new(connections: clients, path: path),
                       warmup: warmup, seconds_min: seconds, seconds_min_quick: quick)
        end

        def mine(results)
          results.servers - [ONE, TWO, SIXTEEN]
        end

        def at_least(results, name, least)
          Verdict.judge("#{name}: requests a second", results.figure(OWN, name, "rate"),
                        limit: "at least #{least}",
                        format: Cell.method(:spread)) { |rate| rate >= least }
        end

        def work_verdicts(results, name)
          (mine(results) - [OWN, "puma w4 t3"]).flat_map do |peer|
            [Verdict.judge("#{name}: requests a second over #{peer}'s",
                           results.ratio(OWN, peer, name, "rate"),
                           limit: "over 1.0 x") { |ratio| ratio > 1 },
             Verdict.judge("#{name}: CPU a request over #{peer}'s",
                           results.ratio(OWN, peer, name, "cpu_us_per_request"),
                           limit: "under 1.0 x") { |ratio| ratio < 1 }]
          end
        end

        def memory_verdicts(results)
          [Verdict.judge("#{HEAVY}: memory over one Puma process's",
                         results.ratio(OWN, "puma #{POOL}", HEAVY, "rss_peak_bytes"),
                         limit: "at most 1.0 x") { |ratio| ratio <= 1 },
           over_sixteen(results, HEAVY, ONE, "rate", "requests a second of one process",
                        "at least #{SAME_MIN} x") { |over| over >= SAME_MIN },
           over_sixteen(results, HEAVY, ONE, "rss_peak_bytes", "memory of one process",
                        "at most #{MEMORY_SHARE_MAX} x") { |over| over <= MEMORY_SHARE_MAX },
           over_sixteen(results, LIST, TWO, "rate", "requests a second of 2 workers",
                        "at least 1.0 x") { |over| over >= 1 }]
        end

        def over_sixteen(results, name, own, figure, what, limit, &)
          Verdict.judge("#{name}: #{what} over 16 Puma workers'",
                        results.ratio(own, SIXTEEN, name, figure), limit: limit, &)
        end

        def rates_table(results)
          rows = scenarios.map(&:name).map do |name|
            [name,
             *mine(results).flat_map { |server|
               [Cell.spread(results.figure(server, name, "rate"), digits: 1),
                Cell.millis(results.figure(server, name, "p50_us"))]
             }]
          end
          Table.new("Requests a second, and the median in ms; pool of #{POOL}",
                    headers: ["load", *mine(results).flat_map { |server| [server, "ms"] }],
                    rows: rows)
        end

        def cost_table(results)
          rows = CPU_BOUND.product(mine(results)).map do |name, server|
            [name, server, Cell.spread(results.figure(server, name, "rate")),
             Cell.ratio(results.ratio(server, OWN, name, "rate")),
             Cell.micros(results.figure(server, name, "cpu_us_per_request")),
             Cell.millis(results.figure(server, name, "p99_us")),
             Cell.number(results.errors(server, name))]
          end
          Table.new("What each request costs",
                    headers: ["load", "server", "requests/s", "over neverblock's",
                              "CPU us/request", "p99 ms", "errors"],
                    rows: rows)
        end

        def memory_table(results)
          runs = [HEAVY, *CPU_BOUND].product(results.servers).select do |name, server|
            results.figure(server, name, "rate")
          end
          rows = runs.map do |name, server|
            [name, server, Cell.spread(results.figure(server, name, "rate")),
             Cell.megabytes(results.figure(server, name, "rss_idle_bytes")),
             Cell.megabytes(results.figure(server, name, "rss_peak_bytes")),
             Cell.number(results.errors(server, name))]
          end
          Table.new("Memory of all processes of a server (#{ONE}, #{TWO} and #{SIXTEEN}: " \
                    "#{CONNECTIONS} connections)",
                    headers: ["load", "server", "requests/s", "MB idle", "MB at most", "errors"],
                    rows: rows)
        end
      end
    end
  end
end
