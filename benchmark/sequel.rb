# frozen_string_literal: true

# Measures JSON through Sequel and PostgreSQL (table S1 of 2009): one long query in N, at three
# concurrencies, in fibers and blocking. One running process serves both modes, chosen by URL.
# In 2009 blocking won where no query was long; here it must not. Puma and Falcon run beside it with
# as many connections.

require_relative "../test/support/services"

module NeverBlock
  module Bench
    module Claims
      class Sequel < Claim
        include DatabaseClaim

        OWN = "neverblock"
        GEMS = "sequel"
        POOL = 12
        # From the published figures: 99 short queries and a long one took 260 ms, 4 short ones and
        # a long one 122 ms.
        LONG_MS = 100
        # One long query in N => the published advantage, the least of the three concurrencies. 0
        # means no long query; there blocking won.
        # The advantage is judged only with more clients than connections. Fewer clients already get
        # all they can in fibers. Their blocking queries get threads of their own from this server,
        # so they gain most of it too.
        MIXES = { 0 => 1.0, 100 => 1.16, 50 => 1.37, 20 => 1.49, 10 => 1.65, 5 => 1.69 }.freeze
        CLIENTS = [10, 100, 1000].freeze
        # Published in 2009 (S1): requests a second at these numbers of clients.
        RATES = {
          100 => { "fibers" => [457, 609, 632], "blocking" => [385, 524, 532] },
          50 => { "fibers" => [377, 461, 472], "blocking" => [267, 337, 339] },
          20 => { "fibers" => [220, 239, 266], "blocking" => [143, 160, 142] },
          10 => { "fibers" => [131, 140, 195], "blocking" => [79, 85, 81] },
          5 => { "fibers" => [70, 76, 109], "blocking" => [41, 42, 42] }
        }.freeze
        # Peers are measured at this one.
        MIDDLE = 100
        MODES = %w[fibers blocking].freeze
        # Least rate over a peer's: with long queries the connections are the limit, a tie.
        PEERS_MIN = { 0 => 1.0, 5 => 0.98 }.freeze

        def title
          "sequel: JSON from PostgreSQL through Sequel, a long query now and then, fibers and " \
            "blocking in one process (table S1)"
        end

        # The warm-up makes the connections.
        def scenarios
          MIXES.keys.product(CLIENTS, MODES).map do |every, clients, mode|
            Scenario.new(name: scenario(every, clients, mode),
                         title: "#{clients} clients, #{mix(every)}, #{mode}",
                         load: Load.new(connections: clients, path: "/#{mode}/#{every}"),
                         warmup: Load.new(connections: [clients, MIDDLE].min, path: "/fibers/0"),
                         seconds_max: 5)
          end
        end

        # Both modes of a mix.
        def scenario_groups
          scenarios.each_slice(MODES.size).to_a
        end

        def measures?(server, scenario)
          server.name == OWN ||
            (scenario.load.connections == MIDDLE && scenario.load.path.start_with?("/fibers"))
        end

        def published
          RATES.flat_map do |every, modes|
            modes.flat_map do |mode, rates|
              CLIENTS.zip(rates).map do |clients, rate|
                Published.new(scenario: scenario(every, clients, mode), metric: "rate",
                              name: "2009: #{mode}", value: rate)
              end
            end
          end
        end

        def tables(results)
          [modes_table(results), peers_table(results)]
        end

        def verdicts(results)
          crowds = CLIENTS.select { |clients| clients > POOL }
          [*MIXES.each_key.map { |every| advantage_verdict(results, every, CLIENTS, 1.0) },
           *MIXES.filter_map { |every, least|
             advantage_verdict(results, every, crowds, least) if least > 1.0
           },
           *beside_peers(results),
           Verdict.no_errors(results, OWN, scenarios.map(&:name))]
        end

        private

        def scenario(every, clients, mode)
          "#{mix(every)}, #{clients}, #{mode}"
        end

        def mix(every)
          every.zero? ? "short only" : "1 : #{every}"
        end

        # @return [Summary, nil] rate of fibers over blocking
        def advantage(results, every, clients)
          results.ratio(OWN, OWN, scenario(every, clients, "fibers"), "rate",
                        other_scenario: scenario(every, clients, "blocking"))
        end

        def modes_table(results)
          rows = MIXES.keys.map do |every|
            [mix(every),
             *CLIENTS.flat_map { |clients|
               [*MODES.map { |mode| rate(results, OWN, every, clients, mode) },
                Cell.ratio(advantage(results, every, clients))]
             }]
          end
          crowds = CLIENTS.flat_map do |clients|
            ["#{clients} clients, fibers", "blocking", "over it"]
          end
          Table.new("Requests a second in one process, pool of #{POOL}, " \
                    "long queries of #{LONG_MS} ms",
                    headers: ["long : short", *crowds], rows: rows)
        end

        def rate(results, server, every, clients, mode)
          Cell.spread(results.figure(server, scenario(every, clients, mode), "rate"))
        end

        def peers_table(results)
          rows = MIXES.keys.product(results.servers).map do |every, server|
            name = scenario(every, MIDDLE, "fibers")
            [mix(every), server, rate(results, server, every, MIDDLE, "fibers"),
             Cell.ratio(results.ratio(server, OWN, name, "rate")),
             Cell.micros(results.figure(server, name, "cpu_us_per_request")),
             Cell.millis(results.figure(server, name, "p50_us")),
             Cell.millis(results.figure(server, name, "p99_us")),
             Cell.megabytes(results.figure(server, name, "rss_peak_bytes")),
             Cell.number(results.errors(server, name))]
          end
          Table.new("#{MIDDLE} clients, beside others",
                    headers: ["long : short", "server", "requests/s", "over neverblock's",
                              "CPU us/request", "p50 ms", "p99 ms", "memory MB", "errors"],
                    rows: rows)
        end

        # At the concurrency at which it is least.
        def advantage_verdict(results, every, concurrencies, least)
          worst = concurrencies.filter_map { |clients| advantage(results, every, clients) }
                               .min_by(&:median)
          Verdict.judge("#{mix(every)}: fibers over blocking, " \
                        "worst of #{concurrencies.join(", ")} clients",
                        worst, limit: "at least #{least} x") { |ratio| ratio >= least }
        end

        def beside_peers(results)
          PEERS_MIN.flat_map do |every, least|
            peers_verdicts(results, scenario(every, MIDDLE, "fibers"), least, title: mix(every))
          end
        end
      end
    end
  end
end
