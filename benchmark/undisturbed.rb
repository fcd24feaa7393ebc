# frozen_string_literal: true

# Measures what a small hot file costs beside other work: downloads of files that come from a slow
# disk, and a request that burns CPU. nginx runs beside it, which has one event loop too.

module NeverBlock
  module Bench
    module Claims
      class Undisturbed < Claim
        include FileClaim

        OWN = "neverblock"
        YARDSTICK = "nginx"
        THREADS = "nginx aio"

        ALONE = "hot file"
        COLD = "hot file beside cold ones"
        BURNER = "hot file beside a burner"
        CALM = "hot file, a fifth of the most"

        HOT = "1KB.bin"
        HOT_RATE = 200
        HOT_CLIENTS = 16
        COLD_CLIENTS = 8
        # Together many times what the disk gives in a run: they stay cold.
        COLD_FILES = (1..COLD_CLIENTS).map { |number| "20MB-#{number}.bin" }.freeze
        DISK_RATE = 4_000_000
        SHARE = 0.2
        # Times of ten milliseconds: two seconds.
        BURN = "/loop/200"

        COLD_P99_US_MAX = 10_000
        BURNER_RATIO_MAX = 1.5

        def title
          "undisturbed: a small hot file beside downloads from a cold slow disk, and beside a " \
            "CPU burner, beside nginx"
        end

        def servers
          [OWN, YARDSTICK, THREADS]
        end

        def candidates
          FileServers.beside_an_application
        end

        def measurement
          FileSet.shared.entry(HOT)
          hot = OpenMeasurement.new
          MeasurementByLoad.new(Arrivals => hot, Cold => ColdMeasurement.new(hot: hot),
                                ShareOfMost => ShareMeasurement.new(arrivals: hot))
        end

        def headline(figures)
          "p99 #{Cell.number(figures["p99_us"] && (figures["p99_us"] / 1000.0), digits: 2)} ms"
        end

        # Threads that read the disk have to do with the disk alone.
        # Without the disturbance and with it.
        def scenario_groups
          scenarios.each_slice(2).to_a
        end

        def measures?(server, scenario)
          return false if scenario.name == COLD && ThrottledFolder.obstacle

          server.name != THREADS || [ALONE, COLD].include?(scenario.name)
        end

        def scenarios
          hot = Arrivals.new(rate: HOT_RATE, path: "/#{HOT}", connections: HOT_CLIENTS)
          [scenario(ALONE, "#{HOT_RATE} requests a second for a file of 1 KB", hot),
           scenario(COLD, "the same, beside #{COLD_CLIENTS} downloads of files that a disk of " \
                          "#{DISK_RATE / 1_000_000} MB/s has to give",
                    Bench::Cold.new(hot: hot, clients: COLD_CLIENTS, files: COLD_FILES,
                                    bytes_per_second: DISK_RATE)),
           scenario(CALM, "requests for a file of 1 KB at a fifth of what the first server can do",
                    fifth(nil)),
           scenario(BURNER, "the same, beside one client whose requests burn 2 s of CPU each",
                    fifth(BURN))]
        end

        def tables(results)
          [table(results, COLD, ALONE,
                 "downloads from a cold disk of #{DISK_RATE / 1_000_000} MB/s",
                 "cold_megabytes_per_second", "cold MB/s"),
           table(results, BURNER, CALM, "a request that burns CPU", "beside_count",
                 "burners answered")]
        end

        def verdicts(results)
          [Verdict.judge("beside downloads from a cold disk: p99, ms",
                         results.figure(OWN, COLD, "p99_us"),
                         limit: "under #{COLD_P99_US_MAX / 1000}",
                         format: Cell.method(:millis)) { |us| us < COLD_P99_US_MAX },
           Verdict.judge("beside a request that burns CPU: p99 over nginx's",
                         results.ratio(OWN, YARDSTICK, BURNER, "p99_us"),
                         limit: "at most #{BURNER_RATIO_MAX} x") { |ratio|
                           ratio <= BURNER_RATIO_MAX
                         },
           Verdict.no_errors(results, OWN, scenarios.map(&:name))]
        end

        private

        def scenario(name, title, load)
          Scenario.new(name: name, title: title, load: load, warmup: load, seconds_min: 15,
                       seconds_min_quick: 6)
        end

        def fifth(beside)
          ShareOfMost.new(path: "/#{HOT}", share: SHARE, beside: beside)
        end

        def table(results, name, without, text, metric, header)
          rows = results.servers.filter_map do |server|
            next unless results.figure(server, name, "p99_us")

            [server, *waits(results, server, without), *waits(results, server, name),
             Cell.spread(results.figure(server, name, metric), digits: 1),
             Cell.spread(results.figure(server, name, "asked_rate")),
             Cell.spread(results.figure(server, name, "late_p99_us")),
             Cell.number(results.errors(server, name))]
          end
          Table.new("A hot file of 1 KB beside #{text}",
                    headers: ["server", "p50 ms without", "p99", "longest", "p50 ms beside", "p99",
                              "longest", header, "asked a second", "generator late us (p99)",
                              "errors"],
                    rows: rows)
        end

        def waits(results, server, scenario)
          %w[p50_us p99_us max_us].map do |metric|
            Cell.millis(results.figure(server, scenario, metric), digits: 2)
          end
        end
      end
    end
  end
end
