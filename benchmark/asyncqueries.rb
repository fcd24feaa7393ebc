# frozen_string_literal: true

# Measures requests that each have three of ActiveRecord's asynchronous queries (load_async): ones
# that sleep, and ones that cost nothing. NeverBlock runs them in fibers. Beside it are NeverBlock
# with Rails' threads, and Puma, which has them too. All have the same number of connections, and
# may run as many such queries at once.

require_relative "../test/support/services"

module NeverBlock
  module Bench
    module Claims
      class Asyncqueries < Claim
        include DatabaseClaim

        OWN = "neverblock"
        THREADS = "neverblock async threads"
        GEMS = "rails"
        POOL = 48
        LONG_MS = 50
        # One client shows that the queries run at once.
        ALONE = "3 queries of #{LONG_MS} ms, 1 client"
        CROWD = "3 queries of #{LONG_MS} ms, 16 clients"
        FAST = "3 queries for nothing, 16 clients"
        # Longest median of a request alone, in queries: they run beside each other.
        ALONE_MAX = 1.5
        WARMUP_S = 3

        def title
          "asyncqueries: three asynchronous queries a request, in fibers and in threads"
        end

        def candidates
          @candidates ||= begin
            own, puma, = super
            [own, with_threads, puma]
          end
        end

        def scenarios
          [scenario(ALONE, 1, "/slow"), scenario(CROWD, 16, "/slow"), scenario(FAST, 16, "/fast")]
        end

        def tables(results)
          scenarios.map(&:name).map do |name|
            rows = servers.filter_map do |server|
              rate = results.figure(server, name, "rate") or next
              [server, Cell.spread(rate), Cell.ratio(results.ratio(server, OWN, name, "rate")),
               Cell.micros(results.figure(server, name, "cpu_us_per_request")),
               *%w[p50_us p99_us].map { |one| Cell.millis(results.figure(server, name, one)) },
               Cell.megabytes(results.figure(server, name, "rss_peak_bytes")),
               Cell.number(results.errors(server, name))]
            end
            Table.new(name, headers: ["server", "requests/s", "over neverblock's",
                                      "CPU us/request", "p50 ms", "p99 ms", "memory MB", "errors"],
                            rows: rows)
          end
        end

        def verdicts(results)
          [alone_verdict(results), *[CROWD, FAST].flat_map { |name| costs(results, name) },
           Verdict.no_errors(results, OWN, scenarios.map(&:name))]
        end

        private

        def with_threads
          NeverBlockServer.new(
            THREADS, settings: "#{Servers::FIBERS} fibers, Rails' threads for asynchronous queries",
                     fibers: Servers::FIBERS, bundle: Bundle.new("neverblock", with: GEMS),
                     environment: -> { environment(POOL).merge("NB_BENCH_ASYNC" => "threads") }
          )
        end

        def scenario(name, clients, path)
          Scenario.new(name: name, title: name, load: Load.new(connections: clients, path: path),
                       warmup: Load.new(connections: 16, path: path), warmup_seconds_min: WARMUP_S)
        end

        def alone_verdict(results)
          median = results.figure(OWN, ALONE, "p50_us")
          Verdict.judge("#{ALONE}: median of a request", median,
                        limit: "at most #{ALONE_MAX} x #{LONG_MS} ms",
                        format: Cell.method(:millis)) { |us| us <= ALONE_MAX * LONG_MS * 1000 }
        end

        def costs(results, name)
          (servers - [OWN]).map do |peer|
            Verdict.judge("#{name}: CPU a request over #{peer}'s",
                          results.ratio(OWN, peer, name, "cpu_us_per_request"),
                          limit: "at most 1.0 x") { |ratio| ratio <= 1 }
          end
        end
      end
    end
  end
end
