# frozen_string_literal: true

# Measures mysql2 in one process (table M1 of 2008, and the ten sleeping queries of mysqlplus). The
# ways are one query after the other, threads, NeverBlock's fibers, and Async's. In Async mysql2
# lets others run only while it waits for the answer of a query.

require_relative "../test/support/services"

module NeverBlock
  module Bench
    module Claims
      class Mysql < ProgramClaim
        OWN = "neverblock"
        BLOCKING = "blocking"
        THREADS = "threads"
        PEER = "async"
        FILE = "benchmark/apps/mysql.rb"

        # mysqlplus's own test, with a shorter sleep: what it is divided by stays.
        SLEEP_MS = 300
        TEN = "10 sleeping queries"
        MIXED = "every fifth long"
        SHORT = "short queries"
        PREPARED = "12 prepared statements"
        LOADS = { TEN => [10, "/sleeping/#{SLEEP_MS}"], MIXED => [50, "/mixed"],
                  SHORT => [20, "/short"], PREPARED => [12, "/prepared/#{SLEEP_MS}"] }.freeze
        # Least rate over another way's.
        LEAST = { [TEN, BLOCKING] => 9.0, [PREPARED, PEER] => 9.0, [MIXED, THREADS] => 0.97,
                  [MIXED, PEER] => 0.97, [SHORT, BLOCKING] => 1.0, [SHORT, THREADS] => 1.0,
                  [SHORT, PEER] => 1.0, [PREPARED, THREADS] => 0.9 }.freeze

        PRIOR = "2008: the same queries in 4.7 s evented, 14.0 s by threads (M1); " \
                "ten sleeping queries 10 times as fast (mysqlplus)"

        def title
          "mysql: mysql2 from one process, by threads and by fibers (table M1)"
        end

        def published_note
          PRIOR
        end

        def candidates
          @candidates ||= [program(BLOCKING, "one query after the other"),
                           program(THREADS, "a thread for each query at once"),
                           program(OWN, "NB.run, a fiber for each query at once", way: "fibers"),
                           program(PEER, "a task for each query at once",
                                   bundle: Bundle.new("async", with: "mysql", shared: false))]
        end

        def load_generator
          "each program measures itself; MariaDB on the same machine"
        end

        def scenarios
          LOADS.map do |name, (at_once, path)|
            Scenario.new(name: name, title: "#{name}: #{at_once} at once, #{Queries.pool(path)}",
                         load: Load.new(connections: at_once, path: path),
                         seconds_min: SLEEP_MS * 0.02, seconds_min_quick: SLEEP_MS * 0.006)
          end
        end

        def tables(results)
          LOADS.keys.map { |name| scenario_table(results, name) }
        end

        def verdicts(results)
          [*LEAST.map { |(name, other), least| ratio_verdict(results, name, other, least) },
           Verdict.no_errors(results, OWN, LOADS.keys)]
        end

        # What the load's connections are, in words.
        module Queries
          def self.pool(path)
            if path.start_with?("/prepared")
              "each with a connection of its own"
            else
              "a pool of at most 20 connections"
            end
          end
        end

        private

        def program(name, settings, way: name,
                    bundle: Bundle.new("ruby", with: "mysql", shared: false))
          Program.new(name, settings: settings, file: FILE, way: way, bundle: bundle,
                      environment: -> { { "NB_BENCH_MYSQL_PORT" => Services.mariadb.port.to_s } })
        end

        def scenario_table(results, name)
          rows = results.servers.map do |way|
            [way, Cell.spread(results.figure(way, name, "rate")),
             Cell.ratio(results.ratio(way, OWN, name, "rate")),
             Cell.spread(results.figure(way, name, "cpu_us_per_request"), digits: 1),
             Cell.millis(results.figure(way, name, "p50_us")),
             Cell.millis(results.figure(way, name, "p99_us")),
             Cell.spread(results.figure(way, name, "in_flight_max")),
             Cell.number(results.errors(way, name))]
          end
          Table.new(name, headers: ["way", "queries/s", "over neverblock's", "CPU us/query",
                                    "p50 ms", "p99 ms", "most at once", "errors"], rows: rows)
        end

        def ratio_verdict(results, name, other, least)
          Verdict.judge("#{name}: queries a second over #{other}'s",
                        results.ratio(OWN, other, name, "rate"),
                        limit: "at least #{least} x") { |ratio| ratio >= least }
        end
      end
    end
  end
end
