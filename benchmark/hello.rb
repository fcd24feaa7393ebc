# frozen_string_literal: true

# Measures what a request costs when the application does nothing: throughput, CPU and latency.
# nginx answers a constant beside it, which is the least that a server on this machine can do.

module NeverBlock
  module Bench
    module Claims
      # 64 clients on kept connections; one client alone; 64 clients that send 16 requests at once.
      class Hello < Claim
        BUSY = "64 clients"
        ALONE = "1 client"
        PIPELINED = "64 clients, 16 deep"
        OWN = "neverblock"
        YARDSTICK = "nginx"

        CPU_RATIO_MAX = 1.2
        RATE_RATIO_MIN = 0.9
        LATENCY_EXTRA_US_MAX = 20
        PIPELINED_RATIO_MIN = 2.0

        def title
          "hello: a Rack application that answers a constant, beside nginx `return 200`"
        end

        def servers
          ["neverblock", "nginx", "iodine 1", "itsi 1", "falcon", "puma 5"]
        end

        # One generator thread outruns every server here, and leaves the other core to the server.
        def scenarios
          [Scenario.new(name: BUSY, title: "kept connections", load: Load.new(connections: 64)),
           Scenario.new(name: ALONE, title: "one request at a time",
                        load: Load.new(connections: 1)),
           Scenario.new(name: PIPELINED, title: "16 requests at once on each connection",
                        load: Load.new(connections: 64, pipeline: 16))]
        end

        def tables(results)
          [busy(results), alone(results), pipelined(results)]
        end

        def verdicts(results)
          [Verdict.judge("CPU a request, 64 clients, over nginx's",
                         results.ratio(OWN, YARDSTICK, BUSY, "cpu_us_per_request"),
                         limit: "at most #{CPU_RATIO_MAX} x") { |ratio| ratio <= CPU_RATIO_MAX },
           Verdict.judge("answers a second, 64 clients, over nginx's",
                         results.ratio(OWN, YARDSTICK, BUSY, "rate"),
                         limit: "at least #{RATE_RATIO_MIN} x") { |ratio| ratio >= RATE_RATIO_MIN },
           Verdict.judge("median latency, 1 client, minus nginx's (us)",
                         results.difference(OWN, YARDSTICK, ALONE, "p50_us"),
                         limit: "at most #{LATENCY_EXTRA_US_MAX}",
                         format: Cell.method(:micros)) { |us| us <= LATENCY_EXTRA_US_MAX },
           Verdict.judge("answers a second, 16 deep, over its own 64 clients",
                         results.ratio(OWN, OWN, PIPELINED, "rate", other_scenario: BUSY),
                         limit: "at least #{PIPELINED_RATIO_MIN} x") { |ratio|
                           ratio >= PIPELINED_RATIO_MIN
                         },
           Verdict.no_errors(results, OWN, [BUSY, ALONE, PIPELINED])]
        end

        private

        def busy(results)
          rows = results.servers.map do |server|
            [server, figure(results, server, BUSY, "rate"), ratio(results, server, BUSY, "rate"),
             figure(results, server, BUSY, "cpu_us_per_request", digits: 1),
             ratio(results, server, BUSY, "cpu_us_per_request"),
             figure(results, server, BUSY, "p50_us"), figure(results, server, BUSY, "p99_us"),
             memory(results, server, BUSY),
             Cell.number(results.errors(server, BUSY))]
          end
          Table.new("64 clients on kept connections",
                    headers: ["server", "requests/s", "over nginx", "CPU us/request", "over nginx",
                              "p50 us", "p99 us", "idle -> peak MB", "errors"],
                    rows: rows)
        end

        def alone(results)
          rows = results.servers.map do |server|
            [server, figure(results, server, ALONE, "p50_us"),
             Cell.micros(results.difference(server, YARDSTICK, ALONE, "p50_us")),
             figure(results, server, ALONE, "p99_us"), figure(results, server, ALONE, "rate"),
             figure(results, server, ALONE, "cpu_us_per_request", digits: 1),
             Cell.number(results.errors(server, ALONE))]
          end
          Table.new("1 client", headers: ["server", "p50 us", "minus nginx us", "p99 us",
                                          "requests/s", "CPU us/request", "errors"], rows: rows)
        end

        def pipelined(results)
          rows = results.servers.map do |server|
            [server, figure(results, server, PIPELINED, "rate"),
             Cell.ratio(results.ratio(server, server, PIPELINED, "rate", other_scenario: BUSY)),
             ratio(results, server, PIPELINED, "rate"),
             figure(results, server, PIPELINED, "cpu_us_per_request", digits: 1),
             Cell.number(results.errors(server, PIPELINED))]
          end
          Table.new("64 clients, 16 requests at once on each connection",
                    headers: ["server", "requests/s", "over its own 1 deep", "over nginx",
                              "CPU us/request", "errors"], rows: rows)
        end

        def figure(results, server, scenario, metric, digits: 0)
          Cell.spread(results.figure(server, scenario, metric), digits: digits)
        end

        def memory(results, server, scenario)
          %w[rss_idle_bytes rss_peak_bytes].map { |metric|
            Cell.number((results.figure(server, scenario, metric)&.median || 0) / 1e6)
          }.join(" -> ")
        end
      end
    end
  end
end
