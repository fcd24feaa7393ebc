# frozen_string_literal: true

# Measures a client as table N1 of 2009 did: one process, 1000 unchanged Net::HTTP requests at once,
# and a server that answers after a delay. With 1000 requests in flight the ideal is 1,000,000 /
# delay_ms a second.

require_relative "table_n1"

module NeverBlock
  module Bench
    module Claims
      # Delays of 0, 10, 50, 100 and 500 ms.
      class Clients < ProgramClaim
        include TableN1

        FIBERS = "neverblock fibers"
        POOL = "neverblock pool"
        THREADS = "threads"
        PEER = "async"
        FILE = "benchmark/apps/clients.rb"
        # At the longest delay, of an ideal of 2000.
        RATE_MIN = 1900
        RATIO_MIN = 1.0
        # Room for requests whose clients have their answer while their fiber still ends.
        SERVER_FIBERS = 2048

        def title
          "clients: 1000 Net::HTTP requests at once from one process (table N1)"
        end

        def candidates
          @candidates ||= [
            program("blocking", "one request after the other; " \
                                "the rate of what was done in the time, not of 1000"),
            program("threads", "#{AT_ONCE} threads"),
            program(FIBERS, "NB.run, a new fiber for each request", way: "fibers"),
            program(POOL, "NB.run, NB::FiberPool.new(#{AT_ONCE})", way: "pool"),
            program(PEER, "a task for each request", bundle: Bundle.new("async", shared: false))
          ]
        end

        # NeverBlock serves the clients. Its application sleeps, and it accepts far more connections
        # a second than any client here can make.
        def host
          ProgramHost.new(NeverBlockServer.new("neverblock",
                                               settings: "asked", fibers: SERVER_FIBERS))
        end

        def load_generator
          "server asked: neverblock #{VERSION} with benchmark/apps/delays.ru on a core of its own"
        end

        def app
          File.join(ROOT, "benchmark/apps/delays.ru")
        end

        def probe_path
          "/0"
        end

        # Threads and Async answer some of the first wave before they have begun all of it, so they
        # may have fewer in flight.
        # At 500 ms the requests go in step, so their first wave is late by the time it takes to
        # begin 1000. Forty waves keep that share small.
        def scenarios
          DELAYS_MS.map do |delay|
            Scenario.new(name: scenario(delay),
                         title: "#{AT_ONCE} requests at once, answered after #{delay} ms",
                         load: Load.new(connections: AT_ONCE, path: "/#{delay}"),
                         seconds_min: delay * 0.04, seconds_min_quick: delay * 0.008)
          end
        end

        def tables(results)
          [rates_table(results, "Requests a second") { |name, delay|
            Cell.spread(results.figure(name, scenario(delay), "rate"))
          },
           table(results, "The first #{AT_ONCE} alone, begun at once: " \
                          "requests a second until all are answered") { |name, delay|
             Cell.spread(results.figure(name, scenario(delay), "burst_rate"))
           },
           table(results, "Client CPU a request, us") { |name, delay|
             Cell.spread(results.figure(name, scenario(delay), "cpu_us_per_request"))
           },
           table(results, "Median time of a request, ms") { |name, delay|
             Cell.millis(results.figure(name, scenario(delay), "p50_us"))
           },
           table(results, "Most requests in flight, of the #{AT_ONCE} allowed") { |name, delay|
             Cell.spread(results.figure(name, scenario(delay), "in_flight_max"))
           },
           table(results, "Peak resident memory of the client, MB") { |name, delay|
             Cell.megabytes(results.figure(name, scenario(delay), "rss_peak_bytes"))
           },
           table(results, "The server's share of its core") { |name, delay|
             Cell.percent(results.figure(name, scenario(delay), "server_cpu_share"))
           },
           table(results, "Errors in all rounds") { |name, delay|
             Cell.number(results.errors(name, scenario(delay)))
           }]
        end

        def verdicts(results)
          [FIBERS, POOL].flat_map do |own|
            [rate_verdict(results, own),
             *[THREADS, PEER].product(DELAYS_MS).map { |other, delay|
               ratio_verdict(results, own, other, delay)
             },
             Verdict.no_errors(results, own, scenario_names, named: true)]
          end
        end

        private

        def program(name, settings, way: name, bundle: ruby_bundle)
          Program.new(name, settings: settings, file: FILE, way: way, bundle: bundle, pinned: true)
        end

        def scenario(delay)
          "delay #{delay} ms"
        end

        def subject
          "client"
        end

        def rate_verdict(results, own)
          Verdict.judge("#{own}: requests a second at #{DELAYS_MS.last} ms",
                        results.figure(own, scenario(DELAYS_MS.last), "rate"),
                        limit: "at least #{Cell.number(RATE_MIN)}",
                        format: Cell.method(:spread)) { |rate| rate >= RATE_MIN }
        end

        def ratio_verdict(results, own, other, delay)
          Verdict.judge("#{own}: requests a second over #{other}'s at #{delay} ms",
                        results.ratio(own, other, scenario(delay), "rate"),
                        limit: "at least #{RATIO_MIN} x") { |ratio| ratio >= RATIO_MIN }
        end
      end
    end
  end
end
