# frozen_string_literal: true

# Measures what TLS and HTTP/2 cost at the edge: requests, files and handshakes, beside nginx.

module NeverBlock
  module Bench
    module Claims
      # HTTP/2 with 100 streams on each of 10 connections, HTTPS/1.1 on 64 kept connections, files
      # of 20 MB over both, full and resumed handshakes, a small file beside a large one.
      class Tls < Claim
        OWN = "neverblock"
        YARDSTICK = "nginx"
        HTTP2 = "HTTP/2"
        HTTP1 = "HTTPS/1.1"
        FILES_HTTP2 = "HTTP/2, 20 MB"
        FILES_HTTP1 = "HTTPS/1.1, 20 MB"
        FULL = "full handshakes"
        FULL_WITH_REQUEST = "full handshakes, a request each"
        RESUMED = "resumed handshakes"
        RESUMED_WITH_REQUEST = "resumed handshakes, a request each"
        BESIDE = "HTTP/2, 1 KB beside 1 GB"

        FILE = "20MB.bin"
        SMALL = "1KB.bin"
        LARGE = "1000MB.bin"
        HANDSHAKES = [FULL, RESUMED, FULL_WITH_REQUEST, RESUMED_WITH_REQUEST].freeze

        # Over nginx's: the least rate, and the most CPU a request.
        RATE_MIN = { HTTP2 => 0.7, HTTP1 => 0.8, FILES_HTTP2 => 0.8, FILES_HTTP1 => 0.8 }.freeze
        CPU_MAX = { HTTP2 => 1.6, FULL => 1.11, RESUMED => 1.11 }.freeze
        # Milliseconds until a small response is there.
        BESIDE_P99_MAX = 20

        def title
          "tls: requests, files and handshakes over TLS, with HTTP/2 and HTTP/1.1, beside nginx"
        end

        def servers
          candidates.map(&:name)
        end

        def candidates
          @candidates ||= TlsServers.all
        end

        def measurement
          TlsMeasurement.new
        end

        def load_generator
          versions = { "wrk" => Wrk.version, "h2load" => H2load.version }
          return unless versions.values.all?

          [*versions.map { |name, version| "#{name} #{version}" },
           "benchmark/c/handshakes.c, beside_download.c"].join(", ")
        end

        def app
          [FILE, SMALL, LARGE].each { |name| FileSet.shared.entry(name) }
          File.join(ROOT, "benchmark/apps/hello.ru")
        end

        # Puma has no HTTP/2, and serves no files.
        def measures?(server, scenario)
          server.family != "puma" || [HTTP1, *HANDSHAKES].include?(scenario.name)
        end

        def scenarios
          [Scenario.new(name: HTTP2, title: "10 connections, 100 streams on each",
                        load: Streams.new(connections: 10, streams: 100)),
           Scenario.new(name: HTTP1, title: "64 clients on kept connections",
                        load: Load.new(connections: 64)),
           Scenario.new(name: FILES_HTTP2, title: "16 downloads at once on 4 connections",
                        load: Streams.new(connections: 4, streams: 4, path: "/#{FILE}"),
                        seconds_min: 8),
           Scenario.new(name: FILES_HTTP1, title: "16 clients on kept connections",
                        load: Load.new(connections: 16, path: "/#{FILE}"), seconds_min: 8),
           *handshakes,
           Scenario.new(name: BESIDE, title: "a request each 10 ms on a connection that downloads",
                        load: Beside.new(large: "/#{LARGE}", small: "/#{SMALL}"), seconds_min: 8)]
        end

        def tables(results)
          [table(results, "Requests", [HTTP2, HTTP1], "requests/s"),
           table(results, "Files of 20 MB", [FILES_HTTP2, FILES_HTTP1], "downloads/s"),
           table(results, "Handshakes of TLS 1.3 with a P-256 key, one client", HANDSHAKES,
                 "connections/s"),
           beside_table(results)]
        end

        def verdicts(results)
          [*RATE_MIN.map { |name, least|
            judge(results, name, "rate", "a second", "at least #{least} x") { |ratio|
              ratio >= least
            }
          },
           *CPU_MAX.map { |name, most|
             judge(results, name, "cpu_us_per_request", "CPU each", "at most #{most} x") { |ratio|
               ratio <= most
             }
           },
           beside_verdict(results),
           Verdict.no_errors(results, OWN, scenarios.map(&:name))]
        end

        private

        def handshakes
          [Scenario.new(name: FULL, title: "one client, connections without a request",
                        load: Handshakes.new),
           Scenario.new(name: RESUMED, title: "the same, with the session of the connection before",
                        load: Handshakes.new(resumed: true)),
           Scenario.new(name: FULL_WITH_REQUEST, title: "one client, a request on each connection",
                        load: Handshakes.new(path: "/")),
           Scenario.new(name: RESUMED_WITH_REQUEST, title: "the same, resumed",
                        load: Handshakes.new(resumed: true, path: "/"))]
        end

        def judge(results, scenario, metric, text, limit, &holds)
          Verdict.judge("#{scenario}: #{text} over nginx's",
                        results.ratio(OWN, YARDSTICK, scenario, metric), limit: limit, &holds)
        end

        def beside_verdict(results)
          p99 = results.figure(OWN, BESIDE, "p99_us")
          Verdict.judge("#{BESIDE}: p99 in ms", p99, limit: "under #{BESIDE_P99_MAX}",
                                                     format: Cell.method(:millis)) { |us|
            us < BESIDE_P99_MAX * 1000
          }
        end

        def beside_table(results)
          rows = results.servers.filter_map do |server|
            times = %w[p50_us p99_us max_us].map { |name| results.figure(server, BESIDE, name) }
            next unless times.all?

            [server, *times.map { |time| Cell.millis(time) },
             Cell.number(results.errors(server, BESIDE))]
          end
          Table.new("A file of 1 KB each 10 ms, beside a download of 1 GB on the same connection",
                    headers: ["server", "p50 ms", "p99 ms", "longest ms", "errors"], rows: rows)
        end

        def table(results, title, names, unit)
          rows = names.product(results.servers).filter_map do |name, server|
            rate = results.figure(server, name, "rate") or next
            ["#{name}, #{server}", Cell.spread(rate), ratio(results, server, name, "rate"),
             Cell.spread(results.figure(server, name, "cpu_us_per_request"), digits: 1),
             ratio(results, server, name, "cpu_us_per_request"),
             Cell.spread(results.figure(server, name, "mean_us")),
             Cell.number(results.errors(server, name))]
          end
          Table.new(title, headers: ["load, server", unit, "over nginx", "CPU us each",
                                     "over nginx", "mean us", "errors"], rows: rows)
        end
      end
    end
  end
end
