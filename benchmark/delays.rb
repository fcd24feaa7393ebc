# frozen_string_literal: true

# Measures a server as table N1 of 2009 did: 1000 clients, and an application that sleeps before it
# answers. A wait should cost nothing, so the ideal is 1000 answers in every delay: 1,000,000 /
# delay_ms a second.

require_relative "table_n1"

module NeverBlock
  module Bench
    module Claims
      # Delays of 0, 10, 50, 100 and 500 ms.
      class Delays < Claim
        include TableN1

        OWN = "neverblock"
        # Least share of the ideal. Where the processor is the limit, OWN_HELLO_MIN of the server's
        # own rate at 0 ms counts instead.
        SHARE_MIN = { 10 => 0.50, 50 => 0.90, 100 => 0.92, 500 => 0.93 }.freeze
        OWN_HELLO_MIN = 0.95
        GROWTH_BYTES_MAX = 80_000_000

        def title
          "delays: 1000 clients, an application that sleeps (table N1, as a server)"
        end

        def servers
          ["neverblock", "falcon", "iodine 5", "puma 5", "puma 1000"]
        end

        def probe_path
          "/0"
        end

        # The warm-up never sleeps. Otherwise a server with few threads would still be busy with its
        # sleeps when the run begins.
        # At 500 ms all clients answer in step. Only in a long run does the last, incomplete step
        # not matter.
        def scenarios
          DELAYS_MS.map do |delay|
            Scenario.new(name: scenario(delay), title: "#{AT_ONCE} clients, sleep #{delay} ms",
                         load: Load.new(connections: AT_ONCE, threads: 2, path: "/#{delay}"),
                         warmup: Load.new(connections: 64, path: "/0"),
                         seconds_min: delay * 0.04, seconds_min_quick: delay * 0.02)
          end
        end

        def tables(results)
          [rates_table(results, "Requests a second, and the share of the ideal") { |server, delay|
            rate(results, server, delay)
          }, table(results, "Resident memory under load minus idle, MB (idle in the last column)",
                   last: { "idle" => ->(server) { idle(results, server) } }) { |server, delay|
            Cell.megabytes(results.figure(server, scenario(delay), "rss_growth_bytes"))
          }, table(results, "Server CPU a request, us") { |server, delay|
            Cell.spread(results.figure(server, scenario(delay), "cpu_us_per_request"), digits: 1)
          }, table(results, "Median latency, ms") { |server, delay|
            Cell.millis(results.figure(server, scenario(delay), "p50_us"))
          }, table(results, "Errors in all rounds") { |server, delay|
            Cell.number(results.errors(server, scenario(delay)))
          }]
        end

        def verdicts(results)
          [*SHARE_MIN.map { |delay, least| share_verdict(results, delay, least) },
           growth_verdict(results),
           Verdict.no_errors(results, OWN, scenario_names)]
        end

        # @param delay [Integer] ms
        # @return [Summary, nil] of the share of the ideal rate
        def share(results, server, delay)
          rate = results.figure(server, scenario(delay), "rate")
          ideal = AT_ONCE * 1000.0 / delay
          rate && Summary.new(median: rate.median / ideal, low: rate.low / ideal,
                              high: rate.high / ideal, rounds: rate.rounds)
        end

        private

        def scenario(delay)
          "sleep #{delay} ms"
        end

        def subject
          "server"
        end

        def rate(results, server, delay)
          text = Cell.spread(results.figure(server, scenario(delay), "rate"))
          if delay.zero? || text == Cell::NONE
            text
          else
            "#{text} = #{Cell.number(share(results, server, delay).median * 100, digits: 1)} %"
          end
        end

        def idle(results, server)
          Cell.megabytes(Summary.of(DELAYS_MS.map { |delay|
            results.figure(server, scenario(delay), "rss_idle_bytes")&.median
          }))
        end

        def share_verdict(results, delay, least)
          share = share(results, OWN, delay)
          hello = results.ratio(OWN, OWN, scenario(delay), "rate", other_scenario: scenario(0))
          limit = "at least #{(least * 100).round} %, or #{OWN_HELLO_MIN} x its own 0 ms"
          Verdict.judge("share of the ideal at #{delay} ms", share,
                        limit: limit, format: ->(summary) { both(summary, hello) }) do |median|
            median >= least || (hello && hello.median >= OWN_HELLO_MIN)
          end
        end

        def both(share, hello)
          "#{Cell.percent(share)}; #{Cell.ratio(hello)}"
        end

        def growth_verdict(results)
          growth = Summary.of(
            DELAYS_MS.map { |delay| results.figure(OWN, scenario(delay), "rss_growth_bytes")&.high }
          )
          worst = growth && Summary.of([growth.high])
          Verdict.judge("resident memory over idle, worst of all, MB", worst,
                        limit: "under #{GROWTH_BYTES_MAX / 1_000_000}",
                        format: Cell.method(:megabytes)) { |bytes| bytes < GROWTH_BYTES_MAX }
        end
      end
    end
  end
end
