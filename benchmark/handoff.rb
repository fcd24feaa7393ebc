# frozen_string_literal: true

# Measures what it costs to pass a request from the I/O loop's thread to the executor's, beside
# nginx. With the lease an idle executor runs the loop itself. Without it there are two threads,
# with rings and eventfds between them.
# This is the evidence of docs/decisions/0001.

module NeverBlock
  module Bench
    module Claims
      # 64 clients and one client, the smallest request.
      class Handoff < Claim
        BUSY = "64 clients"
        ALONE = "1 client"
        LEASE = "neverblock"
        THREADS = "neverblock two-threads"
        YARDSTICK = "nginx"

        def title
          "handoff: one thread for loop and application, or two"
        end

        # The same application as hello's: the threads are what differs.
        def app
          File.join(ROOT, "benchmark/apps/hello.ru")
        end

        def servers
          [LEASE, THREADS, YARDSTICK]
        end

        def scenarios
          [Scenario.new(name: BUSY, title: "kept connections", load: Load.new(connections: 64)),
           Scenario.new(name: ALONE, title: "one request at a time",
                        load: Load.new(connections: 1))]
        end

        def tables(results)
          [BUSY, ALONE].map { |scenario| table(results, scenario) }
        end

        def verdicts(results)
          [Verdict.judge("CPU a request, 64 clients, lease over two threads",
                         results.ratio(LEASE, THREADS, BUSY, "cpu_us_per_request"),
                         limit: "at most 1 x") { |ratio| ratio <= 1 },
           Verdict.judge("median latency, 1 client, lease minus two threads (us)",
                         results.difference(LEASE, THREADS, ALONE, "p50_us"),
                         limit: "less than 0", format: Cell.method(:micros), &:negative?),
           Verdict.no_errors(results, LEASE, [BUSY, ALONE])]
        end

        private

        def table(results, scenario)
          rows = results.servers.map do |server|
            [server, figure(results, server, scenario, "rate"),
             figure(results, server, scenario, "cpu_us_per_request", digits: 1),
             Cell.ratio(results.ratio(server, YARDSTICK, scenario, "cpu_us_per_request")),
             figure(results, server, scenario, "p50_us"),
             figure(results, server, scenario, "p99_us"),
             Cell.number(results.errors(server, scenario))]
          end
          Table.new(scenario, headers: ["server", "requests/s", "CPU us/request", "over nginx",
                                        "p50 us", "p99 us", "errors"], rows: rows)
        end

        def figure(results, server, scenario, metric, digits: 0)
          Cell.spread(results.figure(server, scenario, metric), digits: digits)
        end
      end
    end
  end
end
