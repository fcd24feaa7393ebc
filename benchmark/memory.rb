# frozen_string_literal: true

# Measures what waiting costs in memory: idle connections, requests that sleep, streams whose
# readers wait for the next event. It also measures what busy clients lose beside thousands of idle
# ones.

module NeverBlock
  module Bench
    module Claims
      # 8,000 idle connections, each served once; 5,000 requests in flight; 5,000 event streams.
      class Memory < Claim
        OWN = "neverblock 5000"
        YARDSTICK = "nginx"
        IN_FLIGHT = 5_000
        CONNECTIONS = 8_000
        BUSY = 16
        SLEEP_SECONDS = 10

        IDLE = "idle connections"
        REQUESTS = "requests in flight"
        STREAMS = "event streams"

        IDLE_BYTES_MAX = 1_024
        BUSY_SHARE_MIN = 0.95

        def title
          "memory: #{Cell.number(CONNECTIONS)} idle connections, #{Cell.number(IN_FLIGHT)} " \
            "requests in flight, #{Cell.number(IN_FLIGHT)} event streams"
        end

        def servers
          [OWN, YARDSTICK, "iodine 5", "falcon", "puma 5", "puma 1000"]
        end

        def measurement
          MemoryMeasurement.new
        end

        def headline(figures)
          "#{Cell.number(figures["bytes_per_client"])} bytes each"
        end

        # Before, beside and after the clients the server is left alone for a while.
        def overhead_seconds
          20
        end

        # A server that holds a thread for each waiting request gets as many requests as it has
        # threads. nginx has no application.
        def measures?(server, scenario)
          return server.name != "puma 1000" if scenario.name == IDLE

          [OWN, "falcon", "puma 1000"].include?(server.name)
        end

        # What the busy clients get is the difference of two short runs: longer ones tell no more.
        def scenarios
          [scenario(IDLE, "#{Cell.number(CONNECTIONS)} connections, each served once, then " \
                          "#{BUSY} busy clients beside them",
                    Hold.new(clients: CONNECTIONS, served: true, busy: BUSY)),
           scenario(REQUESTS,
                    "#{Cell.number(IN_FLIGHT)} requests at once, each sleeps #{SLEEP_SECONDS} s",
                    Hold.new(clients: IN_FLIGHT, path: "/sleep/#{SLEEP_SECONDS}",
                             wait_seconds: SLEEP_SECONDS)),
           scenario(STREAMS, "#{Cell.number(IN_FLIGHT)} readers of a stream, each has one event " \
                             "and waits for the next",
                    Hold.new(clients: IN_FLIGHT, path: "/events", expects: "data: hello\n\n\r\n"))]
        end

        def tables(results)
          [idle_table(results), waiting_table(results, REQUESTS), waiting_table(results, STREAMS)]
        end

        def verdicts(results)
          [Verdict.judge("bytes for each idle connection",
                         results.figure(OWN, IDLE, "bytes_per_client"),
                         limit: "at most #{Cell.number(IDLE_BYTES_MAX)}",
                         format: Cell.method(:spread)) { |bytes| bytes <= IDLE_BYTES_MAX },
           Verdict.judge("#{BUSY} busy clients beside them, share of their rate alone",
                         results.figure(OWN, IDLE, "busy_share"),
                         limit: "at least #{(BUSY_SHARE_MIN * 100).round} %",
                         format: Cell.method(:percent)) { |share| share >= BUSY_SHARE_MIN },
           *[[REQUESTS, "requests in flight at once"],
             [STREAMS, "event streams at once"]].map do |name, text|
             Verdict.judge(text, results.figure(OWN, name, "answered"),
                           limit: Cell.number(IN_FLIGHT),
                           format: Cell.method(:spread)) { |count| count >= IN_FLIGHT }
           end,
           Verdict.no_errors(results, OWN, [IDLE, REQUESTS, STREAMS])]
        end

        private

        def scenario(name, title, hold)
          Scenario.new(name: name, title: title, load: hold, warmup: Load.new(connections: 64),
                       seconds_max: 4)
        end

        def idle_table(results)
          rows = measured(results, IDLE).map do |server|
            [server, *memory_cells(results, server, IDLE),
             Cell.spread(results.figure(server, IDLE, "rate_alone")),
             Cell.spread(results.figure(server, IDLE, "rate")),
             Cell.percent(results.figure(server, IDLE, "busy_share")),
             Cell.micros(results.figure(server, IDLE, "cpu_us_alone")),
             Cell.micros(results.figure(server, IDLE, "cpu_us_per_request"))]
          end
          Table.new("#{Cell.number(CONNECTIONS)} idle connections, and #{BUSY} busy clients " \
                    "without and beside them",
                    headers: ["server", "served and open", "bytes each", "MB before",
                              "MB more after they have gone", "requests/s alone", "beside", "share",
                              "CPU us/request alone", "beside"], rows: rows)
        end

        def waiting_table(results, name)
          rows = measured(results, name).map do |server|
            [server, *memory_cells(results, server, name)]
          end
          Table.new("#{Cell.number(IN_FLIGHT)} #{name}",
                    headers: ["server", "served at once", "bytes each", "MB before",
                              "MB more after they have gone"], rows: rows)
        end

        def memory_cells(results, server, name)
          [Cell.spread(results.figure(server, name, "answered")),
           Cell.spread(results.figure(server, name, "bytes_per_client")),
           Cell.megabytes(results.figure(server, name, "rss_idle_bytes")),
           Cell.megabytes(results.figure(server, name, "rss_left_bytes"))]
        end

        def measured(results, name)
          results.servers.select { |server| results.figure(server, name, "clients") }
        end
      end
    end
  end
end
