# frozen_string_literal: true

# Measures what sendfile saves in CPU and latency (table Y1 of 2008, Yaws), and what a file of 16 KB
# to 20 MB costs beside nginx.

module NeverBlock
  module Bench
    module Claims
      class Sendfile < Claim
        include DownloadClaim

        OWN = "neverblock"
        NAMED = "neverblock to_path"
        READ = "neverblock read"
        YARDSTICK = "nginx"
        YARDSTICK_READ = "nginx read"
        PAIRS = [[READ, OWN], [YARDSTICK_READ, YARDSTICK]].freeze

        CLIENTS = 50
        # Files by size. Those of 2008 (Y1) are asked for with and without sendfile, and by one
        # client too.
        SIZES = { "16 KB" => "16KiB.bin", "64 KB" => "64KiB.bin", "256 KB" => "256KiB.bin",
                  "1 MB" => "1MiB.bin", "20 MB" => "20MB.bin" }.freeze
        Y1 = ["64 KB", "256 KB"].freeze
        # One download in CHECK is compared, the others are only counted. Uncompared bytes need not
        # be copied, so the server is the limit.
        CHECK = 16

        # [CPU user %, system %, ms a request] of 50 clients without and with sendfile.
        PUBLISHED = { "64 KB" => [[33, 28, 0.567], [22, 17, 0.928]],
                      "256 KB" => [[16, 27, 2.255], [8, 16, 2.251]] }.freeze

        RATE_MIN = 0.95
        CPU_MAX = 1.1
        LATENCY_MAX = 1.0

        def title
          "sendfile: files of 16 KB to 20 MB beside nginx, with sendfile and without (table Y1 " \
            "of 2008)"
        end

        def servers
          [OWN, YARDSTICK, NAMED, READ, YARDSTICK_READ]
        end

        def candidates
          FileServers.with_and_without
        end

        def headline(figures)
          "#{Cell.number(figures["rate"])}/s, p50 #{Cell.number(figures["p50_us"])} us"
        end

        def published
          PUBLISHED.flat_map do |size, values|
            ["2008: Yaws without sendfile", "2008: Yaws, sendfile"].zip(values).map do |name, value|
              Published.new(scenario: size, metric: "mean_us", name: name, value: value.last * 1000)
            end
          end
        end

        # Without sendfile only what was measured so in 2008.
        def measures?(server, scenario)
          [OWN, YARDSTICK].include?(server.name) ||
            Y1.any? { |size| [size, alone(size)].include?(scenario.name) }
        end

        def scenarios
          SIZES.map { |size, file| scenario(size, file, CLIENTS) } +
            Y1.map { |size| scenario(alone(size), SIZES.fetch(size), 1) }
        end

        def tables(results)
          [beside_table(results), y1_table(results), alone_table(results)]
        end

        def verdicts(results)
          [*SIZES.keys.map { |size|
            ratio_verdict(results, size, "rate", "downloads a second",
                          "at least #{RATE_MIN} x") { |ratio| ratio >= RATE_MIN }
          },
           *SIZES.keys.map { |size|
             ratio_verdict(results, size, "cpu_us_per_request", "CPU a download",
                           "at most #{CPU_MAX} x") { |ratio| ratio <= CPU_MAX }
           },
           *["64 KB", alone("64 KB")].map { |name| latency_verdict(results, name) },
           Verdict.no_errors(results, OWN, scenarios.map(&:name))]
        end

        # @param size [String]
        # @return [String] of the scenario with one client
        def alone(size)
          "#{size}, 1 client"
        end

        private

        def scenario(name, file, clients)
          load = Crowd.new(clients: clients, files: [file], check: CHECK)
          Scenario.new(name: name,
                       title: "#{clients} clients on kept connections, " \
                              "every #{CHECK}th download compared",
                       load: load)
        end

        def beside_table(results)
          rows = SIZES.keys.product([OWN, YARDSTICK]).filter_map do |size, server|
            rate = results.figure(server, size, "rate") or next
            ["#{size} #{server}", Cell.spread(rate), ratio(results, server, size, "rate"),
             figure(results, server, size, "cpu_us_per_request", digits: 1),
             ratio(results, server, size, "cpu_us_per_request"),
             figure(results, server, size, "core_us_per_request", digits: 1),
             ratio(results, server, size, "core_us_per_request"),
             figure(results, server, size, "p50_us"), figure(results, server, size, "p99_us"),
             figure(results, server, size, "megabytes_per_second"),
             Cell.percent(results.figure(server, size, "core_share")),
             Cell.percent(results.figure(server, size, "generator_cpu_share")),
             Cell.number(results.errors(server, size))]
          end
          Table.new("#{CLIENTS} clients on kept connections, with sendfile",
                    headers: ["file, server", "downloads/s", "over nginx", "CPU us/download",
                              "over nginx", "its core us/download", "over nginx", "p50 us",
                              "p99 us", "MB/s", "its core", "clients' core", "errors"],
                    rows: rows)
        end

        def y1_table(results)
          rows = Y1.product(results.servers).filter_map do |size, server|
            found = results.figure(server, size, "mean_us") or next
            without = PAIRS.find { |pair| pair.include?(server) }&.first
            over = %w[mean_us cpu_us_per_request].map do |metric|
              without ? Cell.ratio(results.ratio(server, without, size, metric)) : Cell::NONE
            end
            ["#{size} #{server}", Cell.spread(found), over.first,
             figure(results, server, size, "cpu_us_per_request", digits: 1), over.last,
             in_2008(server, size), Cell.number(results.errors(server, size))]
          end
          Table.new("Y1: #{CLIENTS} clients, with sendfile and without (\"read\")",
                    headers: ["file, server", "mean us", "over without", "CPU us/download",
                              "over without", "2008: CPU user, system %, ms", "errors"], rows: rows)
        end

        def alone_table(results)
          rows = Y1.product(results.servers).filter_map do |size, server|
            found = results.figure(server, alone(size), "p50_us") or next
            ["#{size} #{server}", Cell.spread(found),
             figure(results, server, alone(size), "p99_us"),
             figure(results, server, alone(size), "first_p50_us"),
             figure(results, server, alone(size), "cpu_us_per_request", digits: 1),
             Cell.number(results.errors(server, alone(size)))]
          end
          Table.new("1 client: head and first bytes leave together",
                    headers: ["file, server", "p50 us", "p99 us", "first byte p50 us",
                              "CPU us/download", "errors"],
                    rows: rows)
        end

        def in_2008(server, size)
          place = { READ => 0, OWN => 1 }[server]
          place ? PUBLISHED.fetch(size).fetch(place).join(", ") : Cell::NONE
        end

        def ratio_verdict(results, size, metric, text, limit, &holds)
          Verdict.judge("#{size}: #{text} over nginx's",
                        results.ratio(OWN, YARDSTICK, size, metric), limit: limit, &holds)
        end

        def latency_verdict(results, name)
          Verdict.judge("#{name}: median with sendfile over without",
                        results.ratio(OWN, READ, name, "p50_us"),
                        limit: "at most #{LATENCY_MAX} x") { |ratio| ratio <= LATENCY_MAX }
        end

        def figure(results, server, scenario, metric, digits: 0)
          Cell.spread(results.figure(server, scenario, metric), digits: digits)
        end
      end
    end
  end
end
