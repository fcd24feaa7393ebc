# frozen_string_literal: true

# Measures short and long queries in one Rack application with pg and a pool of 20: every fifth a
# long one, short ones only, long ones only. In 2008 the evented server lost 15 % with short queries
# only.

require_relative "../test/support/services"

module NeverBlock
  module Bench
    module Claims
      class Mixed < Claim
        include DatabaseClaim

        OWN = "neverblock"
        GEMS = "pg"
        POOL = 20
        # The published test's clients, and more than there are connections.
        CLIENTS = 20
        MANY = 200
        LONG_MS = 200
        EVERY = 5
        FIFTH = "every fifth long"
        CROWD = "every fifth long, many"
        SHORT = "short only"
        LONG = "long only"
        # Least share of what the connections can do.
        SHARE_MIN = { FIFTH => 0.90, LONG => 0.97 }.freeze
        # Least rate over a peer's: where the connections are the limit, a tie.
        PEERS_MIN = { CROWD => 0.98, SHORT => 1.0 }.freeze

        def title
          "mixed: short and long queries through pg and a pool of #{POOL}, beside Puma and Falcon"
        end

        # The warm-up makes the connections.
        def scenarios
          [scenario(FIFTH, CLIENTS, "/mixed"), scenario(CROWD, MANY, "/mixed"),
           scenario(SHORT, MANY, "/short"), scenario(LONG, MANY, "/long")]
        end

        # Of 2008: 20 clients, blocking and evented.
        def published
          [[FIFTH, "rate", 2.80, 9.53], [FIFTH, "p50_us", 5_937_000, 491_000],
           [SHORT, "rate", 304, 260]].flat_map do |scenario, metric, *values|
            ["2008: blocking", "2008: evented"].zip(values).map do |name, value|
              Published.new(scenario: scenario, metric: metric, name: name, value: value)
            end
          end
        end

        def tables(results)
          scenario_names.map { |name| scenario_table(results, name) }
        end

        def verdicts(results)
          [*SHARE_MIN.map { |name, least| share_verdict(results, name, least) },
           *PEERS_MIN.flat_map { |name, least| peers_verdicts(results, name, least) },
           Verdict.no_errors(results, OWN, scenario_names)]
        end

        # @return [Float] requests a second, were a short query for nothing
        def ideal(name)
          { FIFTH => [CLIENTS, POOL].min * EVERY, CROWD => POOL * EVERY,
            LONG => POOL }.fetch(name) * 1000.0 / LONG_MS
        end

        private

        def scenario_names
          scenarios.map(&:name)
        end

        def scenario(name, clients, path)
          Scenario.new(name: name, title: "#{clients} clients, #{name}",
                       load: Load.new(connections: clients, path: path),
                       warmup: Load.new(connections: clients, path: "/short"),
                       seconds_min: LONG_MS * 0.1, seconds_min_quick: LONG_MS * 0.02)
        end

        def scenario_table(results, name)
          rows = results.servers.map do |server|
            [server, Cell.spread(results.figure(server, name, "rate")),
             Cell.ratio(results.ratio(server, OWN, name, "rate")),
             Cell.micros(results.figure(server, name, "cpu_us_per_request")),
             *%w[p50_us p90_us p99_us].map { |metric|
               Cell.millis(results.figure(server, name, metric))
             },
             Cell.megabytes(results.figure(server, name, "rss_peak_bytes")),
             Cell.number(results.errors(server, name))]
          end
          Table.new("#{scenarios.find { |scenario| scenario.name == name }.title}, " \
                    "queries of #{LONG_MS} ms",
                    headers: ["server", "requests/s", "over neverblock's", "CPU us/request",
                              "p50 ms", "p90 ms", "p99 ms", "memory MB", "errors"], rows: rows)
        end

        def share_verdict(results, name, least)
          rate = results.figure(OWN, name, "rate")
          share = rate && Summary.new(median: rate.median / ideal(name),
                                      low: rate.low / ideal(name), high: rate.high / ideal(name),
                                      rounds: rate.rounds)
          Verdict.judge("#{name}: share of what #{POOL} connections can do", share,
                        limit: "at least #{(least * 100).round} %",
                        format: Cell.method(:percent)) { |median| median >= least }
        end
      end
    end
  end
end
