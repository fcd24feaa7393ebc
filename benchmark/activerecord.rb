# frozen_string_literal: true

# Measures ActiveRecord in a server (table N3 of 2008): five workloads, and pools of 2 to 32
# connections. The pools serve queries that cost nothing and queries that take long.
# The peers are Puma with a thread for each connection, Puma workers with as many threads in all,
# and Falcon.

require_relative "../test/support/services"

module NeverBlock
  module Bench
    module Claims
      class Activerecord < Claim
        include DatabaseClaim

        GEMS = "rails"
        POOLS = [2, 4, 8, 16, 32].freeze
        # Of the five workloads.
        POOL = 16
        CLIENTS = 64
        LONG_MS = 100
        WORKLOADS = { "very light" => "one count", "light" => "a count, a create",
                      "moderate" => "2 counts, a create, rolled back",
                      "heavy" => "3 counts, a create, an update",
                      "very heavy" => "3 counts, one on an unindexed column, a create, " \
                                      "2 updates" }.freeze
        FAST = "select 1"
        SLOW = "slow"
        OWN = "neverblock p#{POOL}"
        WARMUP_S = 5
        # Least share of what the connections can do: doubling the pool doubles the slow part.
        SLOW_SHARE_MIN = 0.93
        # Least rate of the largest pool over that of a pool of four: the fast part hardly minds.
        FAST_MIN = 0.85

        def title
          "activerecord: five workloads, and pools of #{POOLS.first} to #{POOLS.last} " \
            "connections, beside Puma and Falcon (table N3)"
        end

        def candidates
          @candidates ||= POOLS.flat_map do |pool|
            found = Servers.with_database(pool: pool, gems: GEMS, note: "p#{pool}",
                                          &method(:environment))
            pool == POOL ? found : found.reject { |server| server.name.start_with?("puma w") }
          end
        end

        # The five with one pool, for all; the others with every pool, where there is one process.
        def measures?(server, scenario)
          if WORKLOADS.key?(scenario.name)
            at(POOL).include?(server.name)
          else
            !server.name.start_with?("puma w")
          end
        end

        def scenarios
          WORKLOADS.map { |name, what|
            scenario(name, "#{name}: #{what}", "/#{name.tr(" ", "-")}")
          } + [scenario(FAST, "queries for nothing", "/one"),
               scenario(SLOW, "queries of #{LONG_MS} ms", "/slow", warm: "/one", seconds_min: 10)]
        end

        def published_note
          "2008: faster in each of the five workloads by about the same share; a pool of twice " \
            "the size doubled the slow part and hardly changed the fast one (N3)"
        end

        def tables(results)
          [*WORKLOADS.keys.map { |name| workload_table(results, name) },
           *[FAST, SLOW].map { |name| pools_table(results, name) }]
        end

        def verdicts(results)
          [*WORKLOADS.keys.flat_map { |name| beside_peers(results, name) },
           *POOLS.map { |pool| slow_verdict(results, pool) }, fast_verdict(results),
           *POOLS.map { |pool| no_errors(results, pool) }]
        end

        private

        def scenario(name, title, path, warm: path, **options)
          Scenario.new(name: name, title: "#{CLIENTS} clients, #{title}",
                       load: Load.new(connections: CLIENTS, path: path),
                       warmup: Load.new(connections: CLIENTS, path: warm),
                       warmup_seconds_min: WARMUP_S, **options)
        end

        # @return [Array<String>] the servers with a pool of that size
        def at(pool)
          ["neverblock p#{pool}", "puma #{pool}",
           *("puma w#{Servers::WORKERS} t#{pool / Servers::WORKERS}" if pool == POOL),
           "falcon p#{pool}"]
        end

        def workload_table(results, name)
          rows = at(POOL).filter_map do |server|
            rate = results.figure(server, name, "rate") or next
            [server, Cell.spread(rate), Cell.ratio(results.ratio(server, OWN, name, "rate")),
             Cell.micros(results.figure(server, name, "cpu_us_per_request")),
             Cell.spread(results.figure(server, name, "server_cpu_share"), digits: 2),
             *%w[p50_us p99_us].map { |metric| Cell.millis(results.figure(server, name, metric)) },
             Cell.megabytes(results.figure(server, name, "rss_peak_bytes")),
             Cell.number(results.errors(server, name))]
          end
          Table.new(scenarios.find { |one| one.name == name }.title,
                    headers: ["server", "requests/s", "over neverblock's", "CPU us/request",
                              "cores it used", "p50 ms", "p99 ms", "memory MB", "errors"],
                    rows: rows)
        end

        def pools_table(results, name)
          rows = ["neverblock p", "puma ", "falcon p"].filter_map do |server|
            cells = POOLS.map do |pool|
              Cell.spread(results.figure("#{server}#{pool}", name, "rate"))
            end
            [server.split.first, *cells] unless cells.uniq == [Cell::NONE]
          end
          Table.new("#{scenarios.find { |one| one.name == name }.title}: requests/s by connections",
                    headers: ["server", *POOLS.map(&:to_s)], rows: rows)
        end

        def beside_peers(results, name)
          (at(POOL) - [OWN]).flat_map do |peer|
            costs = Verdict.judge("#{name}: CPU a request over #{peer}'s",
                                  results.ratio(OWN, peer, name, "cpu_us_per_request"),
                                  limit: "at most 1.0 x") { |ratio| ratio <= 1 }
            next [costs] if peer.start_with?("puma w") # it has more cores

            [Verdict.judge("#{name}: requests a second over #{peer}'s",
                           results.ratio(OWN, peer, name, "rate"),
                           limit: "at least 1.0 x") { |ratio| ratio >= 1 }, costs]
          end
        end

        def slow_verdict(results, pool)
          rate = results.figure("neverblock p#{pool}", SLOW, "rate")
          ideal = pool * 1000.0 / LONG_MS
          share = rate && Summary.new(median: rate.median / ideal, low: rate.low / ideal,
                                      high: rate.high / ideal, rounds: rate.rounds)
          Verdict.judge("pool of #{pool}, queries of #{LONG_MS} ms: share of what it can do", share,
                        limit: "at least #{(SLOW_SHARE_MIN * 100).round} %",
                        format: Cell.method(:percent)) { |median| median >= SLOW_SHARE_MIN }
        end

        def fast_verdict(results)
          ratio = results.ratio("neverblock p#{POOLS.last}", "neverblock p#{POOLS[1]}", FAST,
                                "rate")
          Verdict.judge("#{FAST}: a pool of #{POOLS.last} over one of #{POOLS[1]}", ratio,
                        limit: "at least #{FAST_MIN} x") { |median| median >= FAST_MIN }
        end

        def no_errors(results, pool)
          Verdict.no_errors(results, "neverblock p#{pool}",
                            pool == POOL ? scenarios.map(&:name) : [FAST, SLOW], named: true)
        end
      end
    end
  end
end
