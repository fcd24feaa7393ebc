# frozen_string_literal: true

# Measures downloads as table G1 of 2009 (grizzly-sendfile) did, beside nginx: files of 1 KB to 100
# MB in equal parts, 50 to 300 clients. A client reads as fast as it can, or at 1 MB/s.
# The server has 50 native threads that send, and runs with each sender algorithm. The length, head
# and bytes of every download are checked.

module NeverBlock
  module Bench
    module Claims
      class Downloads < Claim
        include DownloadClaim

        SBA = "neverblock sba"
        ENBA = "neverblock enba"
        EBA = "neverblock eba"
        EBA_SMALL = "neverblock eba 40K"
        AUTO = "neverblock auto"
        OWN = [SBA, ENBA, EBA, EBA_SMALL, AUTO].freeze
        YARDSTICK = "nginx"

        CLIENTS = [50, 100, 200, 300].freeze
        BESIDE = "300 clients, 1 MB/s, 200 stopped"
        RATE = 1_000_000
        STOPPED = 200
        SMALLER = %w[1KB.bin 200KB.bin 500KB.bin 1MB.bin].freeze
        FILES = [*SMALLER, "20MB.bin", "100MB.bin"].freeze
        FILES_QUICK = [*SMALLER, "5MB.bin", "10MB.bin"].freeze

        SECONDS = 180
        SECONDS_QUICK = 30
        RAMP_SECONDS = 20
        RAMP_SECONDS_QUICK = 3

        # Published in 2009 for [clients, limited]: seconds to the first byte, MB/s of a 100 MB
        # file, MB/s in all.
        PUBLISHED = {
          SBA => { [50, false] => [0.019, 4.36, 208.8], [100, false] => [4.666, 4.32, 212.8],
                   [200, false] => [14.288, 4.31, 208.6], [50, true] => [0.003, 1.0, 42.9],
                   [100, true] => [20.5, 1.0, 40.4], [200, true] => [64.8, 1.0, 37.1],
                   [300, true] => [113.9, 1.0, 34.2] },
          ENBA => { [50, false] => [0.021, 4.15, 198.8], [100, false] => [0.048, 1.84, 168.2],
                    [200, false] => [0.108, 0.87, 144.7], [50, true] => [0.002, 0.98, 41.8],
                    [100, true] => [0.003, 0.99, 85.1], [200, true] => [0.112, 0.86, 141.8],
                    [300, true] => [0.185, 0.58, 127.5] },
          EBA => { [50, false] => [0.018, 4.23, 202.3], [100, false] => [0.140, 1.96, 175.7],
                   [200, false] => [0.264, 0.97, 158.8], [50, true] => [0.003, 0.98, 41.9],
                   [100, true] => [0.018, 1.0, 84.2], [200, true] => [0.200, 0.95, 156.6],
                   [300, true] => [0.310, 0.61, 133.7] },
          EBA_SMALL => { [50, true] => [0.002, 0.98, 42.9], [100, true] => [0.013, 0.99, 84.3],
                         [200, true] => [0.159, 0.96, 154.2], [300, true] => [0.239, 0.63, 132.8] }
        }.freeze

        HEADERS = ["first byte ms", "p99 ms", "MB/s of the largest", "MB/s in all", "over nginx",
                   "cores", "CPU us/MB", "clients' core", "not begun", "errors"].freeze

        TOTAL_MIN = 0.97
        FIRST_US_MAX = { AUTO => 10_000, ENBA => 50_000, EBA => 50_000 }.freeze
        # Four times the clients, four times the bytes.
        GROWTH_MIN = 3.8
        AGAINST_SBA_MIN = 0.95
        # A thread stays with its download here, so six times the clients get little more than 50
        # would, and wait. What they get beyond that is in the kernel's buffers: the last megabytes
        # of a download lie there when its thread has gone on.
        SBA_GROWTH_MAX = 2.5
        SBA_WAIT_US_MIN = 1_000_000

        def title
          "downloads: files of 1 KB to 100 MB by 50 to 300 clients (table G1 of 2009), each " \
            "algorithm, beside nginx"
        end

        def servers
          [*OWN, YARDSTICK]
        end

        def candidates
          FileServers.algorithms
        end

        def settings(quick:, rounds:, seconds:)
          Settings.for(quick: quick, rounds: rounds || 1,
                       seconds: seconds || (quick ? SECONDS_QUICK : SECONDS),
                       warmup_seconds: quick ? RAMP_SECONDS_QUICK : RAMP_SECONDS)
        end

        def resumable?
          true
        end

        def headline(figures)
          "#{Cell.number(figures["megabytes_per_second"], digits: 1)} MB/s, " \
            "first byte p99 #{Cell.number(figures["first_p99_us"] / 1000.0, digits: 1)} ms"
        end

        def scenarios
          cells.map { |name, clients, rate, stopped| scenario(name, clients, rate, stopped) }
        end

        def published
          PUBLISHED.flat_map do |server, cells|
            cells.flat_map do |(clients, limited), (first, top, total)|
              { "first_mean_us" => first * 1e6, "top_megabytes_per_second" => top,
                "megabytes_per_second" => total }.map { |metric, value|
                Published.new(scenario: cell(clients, limited), metric: metric,
                              name: server.sub("neverblock", "2009:"), value: value)
              }
            end
          end
        end

        def tables(results)
          [g1(results, "as fast as they can", false), g1(results, "1 MB/s each", true),
           beside_table(results)]
        end

        def verdicts(results)
          both = [cell(300, true), BESIDE]
          [*both.map { |name| total_verdict(results, name) },
           *both.product(FIRST_US_MAX.to_a).map { |name, (server, limit)|
             first_verdict(results, name, server, limit)
           },
           growth_verdict(results), against_sba_verdict(results), *sba_verdicts(results),
           *OWN.map { |server|
             Verdict.no_errors(results, server, scenarios.map(&:name), named: true)
           }]
        end

        # @param clients [Integer]
        # @param limited [Boolean]
        # @return [String] of a scenario
        def cell(clients, limited)
          "#{clients} clients#{", 1 MB/s" if limited}"
        end

        private

        def cells
          [false, true].product(CLIENTS).map { |limited, clients|
            [cell(clients, limited), clients, limited ? RATE : 0, 0]
          } + [[BESIDE, CLIENTS.last, RATE, STOPPED]]
        end

        def scenario(name, clients, rate, stopped)
          load = Crowd.new(clients: clients, rate: rate, stopped: stopped, fresh: true,
                           files: FILES, files_quick: FILES_QUICK)
          Scenario.new(name: name, title: "a connection for each download; every byte is compared",
                       load: load)
        end

        def g1(results, text, limited)
          rows = CLIENTS.product(results.servers).filter_map do |clients, server|
            row(results, server, cell(clients, limited), clients,
                PUBLISHED.dig(server, [clients, limited]))
          end
          Table.new("G1: #{text}",
                    headers: ["clients, server", *HEADERS, "2009: first byte s, of 100 MB, in all"],
                    rows: rows)
        end

        def beside_table(results)
          rows = results.servers.filter_map do |server|
            row(results, server, BESIDE, CLIENTS.last, nil)
          end
          Table.new("#{CLIENTS.last} clients, 1 MB/s each, " \
                    "beside #{STOPPED} that have stopped reading",
                    headers: ["clients, server", *HEADERS, "2009"], rows: rows)
        end

        def row(results, server, scenario, clients, published)
          figure = ->(metric, digits, scale = 1) {
            Cell.spread(results.figure(server, scenario, metric), digits: digits, scale: scale)
          }
          return unless results.figure(server, scenario, "megabytes_per_second")

          ["#{clients} #{server}", figure.call("first_mean_us", 1, 1e-3),
           figure.call("first_p99_us", 1, 1e-3), figure.call("top_megabytes_per_second", 2),
           figure.call("megabytes_per_second", 1),
           Cell.ratio(results.ratio(server, YARDSTICK, scenario, "megabytes_per_second")),
           figure.call("server_cpu_share", 2),
           figure.call("cpu_us_per_megabyte", 0),
           Cell.percent(results.figure(server, scenario, "generator_cpu_share")),
           figure.call("waiting", 0),
           Cell.number(results.errors(server, scenario)),
           published ? published.join(", ") : Cell::NONE]
        end

        def total_verdict(results, name)
          Verdict.judge("auto: MB/s in all over nginx's, #{name}",
                        results.ratio(AUTO, YARDSTICK, name, "megabytes_per_second"),
                        limit: "at least #{TOTAL_MIN} x") { |ratio| ratio >= TOTAL_MIN }
        end

        def first_verdict(results, name, server, limit)
          Verdict.judge("#{server}: first byte p99, ms, #{name}",
                        results.figure(server, name, "first_p99_us"),
                        limit: "under #{limit / 1000}",
                        format: Cell.method(:millis)) { |us| us < limit }
        end

        def growth_verdict(results)
          Verdict.judge("auto: MB/s in all at 1 MB/s, 200 clients over 50",
                        results.ratio(AUTO, AUTO, cell(200, true), "megabytes_per_second",
                                      other_scenario: cell(50, true)),
                        limit: "at least #{GROWTH_MIN} x") { |ratio| ratio >= GROWTH_MIN }
        end

        def against_sba_verdict(results)
          Verdict.judge("auto: MB/s in all over sba's, 50 fast clients",
                        results.ratio(AUTO, SBA, cell(50, false), "megabytes_per_second"),
                        limit: "at least #{AGAINST_SBA_MIN} x") { |ratio| ratio >= AGAINST_SBA_MIN }
        end

        def sba_verdicts(results)
          [Verdict.judge("sba, as in 2009: MB/s in all at 1 MB/s, 300 clients over 50",
                         results.ratio(SBA, SBA, cell(300, true), "megabytes_per_second",
                                       other_scenario: cell(50, true)),
                         limit: "at most #{SBA_GROWTH_MAX} x") { |ratio| ratio <= SBA_GROWTH_MAX },
           Verdict.judge("sba, as in 2009: ms to the first byte, 300 clients at 1 MB/s",
                         results.figure(SBA, cell(300, true), "first_mean_us"),
                         limit: "over #{SBA_WAIT_US_MIN / 1000}",
                         format: Cell.method(:millis)) { |us| us > SBA_WAIT_US_MIN }]
        end
      end
    end
  end
end
