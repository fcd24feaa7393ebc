# frozen_string_literal: true

# Measures how long light actions of a Rails application wait beside actions that do not yield, and
# the same in Puma and Falcon. One client repeats one of these: a huge page, a password's digest, a
# blocking call of a C library, 50,000 rows as objects.

require_relative "../test/support/services"

module NeverBlock
  module Bench
    module Claims
      # Open loops (open_loop.c): latencies from when a request was due.
      class Railstalls < Claim
        include DatabaseClaim

        GEMS = "railstalls"
        OWN = "neverblock"
        TWO = "neverblock w2"
        POOL = 12
        IDLE = "nobody else"
        BESIDE = { "a huge page" => "/report", "a password's digest" => "/password",
                   "a call in C that blocks" => "/driver/1",
                   "50,000 rows as objects" => "/rows" }.freeze

        RATE = 100
        CONNECTIONS = 64
        SECONDS = 15
        SECONDS_QUICK = 6
        # Over the p99 of light requests that have the server for themselves.
        LATER_US_MAX = 30_000

        def title
          "railstalls: light actions of a Rails application beside a huge page, bcrypt, a C call " \
            "that blocks, 50,000 rows as objects"
        end

        def candidates
          @candidates ||= [*super.reject { |server| server.name == "puma w4 t3" }, two_workers]
        end

        def measurement
          OpenMeasurement.new
        end

        def load_generator
          "open_loop"
        end

        def probe_path
          "/hello"
        end

        def scenarios
          [scenario(IDLE, nil), *BESIDE.map { |name, path| scenario(name, path) }]
        end

        def tables(results)
          rows = scenarios.product(results.servers).map do |scenario, server|
            [server, scenario.name,
             *%w[p50_us p99_us max_us].map { |metric|
               Cell.millis(results.figure(server, scenario.name, metric), digits: 1)
             },
             Cell.millis(later(results, server, scenario.name), digits: 1),
             Cell.number(results.errors(server, scenario.name))]
          end
          [Table.new("#{RATE} light requests a second, beside one client",
                     headers: ["server", "beside", "p50 ms", "p99", "longest", "p99 over alone",
                               "not answered"],
                     rows: rows)]
        end

        def verdicts(results)
          [OWN, TWO].flat_map do |server|
            [*BESIDE.keys.map { |name| beside_verdict(results, server, name) },
             Verdict.no_errors(results, server, scenarios.map(&:name))]
          end
        end

        private

        def two_workers
          Servers.workers_with_database(own: [2], puma: 1, pool: POOL, gems: GEMS,
                                        &method(:environment)).first
        end

        def beside_verdict(results, server, name)
          Verdict.judge("#{server} beside #{name}: p99 over that of an idle server, ms",
                        later(results, server, name), limit: "at most #{LATER_US_MAX / 1000}",
                        format: Cell.method(:millis)) { |us| us <= LATER_US_MAX }
        end

        def environment(share)
          { "DATABASE_URL" => "#{Services.postgresql.url}?sslmode=disable&pool=#{share}" \
                              "&checkout_timeout=60",
            "RAILS_MAX_THREADS" => share.to_s }
        end

        def scenario(name, path)
          Scenario.new(name: name, title: "#{RATE} light requests a second, beside #{name}",
                       load: Arrivals.new(rate: RATE, path: "/light", connections: CONNECTIONS,
                                          beside: path),
                       seconds_min: SECONDS, seconds_min_quick: SECONDS_QUICK)
        end

        # How much later than on an idle server.
        def later(results, server, name)
          figure = results.figure(server, name, "p99_us")
          idle = results.figure(server, IDLE, "p99_us")
          return unless figure && idle

          Summary.new(median: figure.median - idle.median, low: figure.low - idle.median,
                      high: figure.high - idle.median, rounds: figure.rounds)
        end
      end
    end
  end
end
