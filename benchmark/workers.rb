# frozen_string_literal: true

# Measures what several workers give. Two cores should do twice the work, and hello world should
# cost what it costs in one process. A request should go to whichever worker is free (late binding).
# Light requests that do not wait should not suffer beside one that burns CPU.
# Clusters of Puma, Falcon, Iodine and Itsi run beside it with as many workers.

module NeverBlock
  module Bench
    module Claims
      # Closed loops by wrk for rates and CPU; open loops (open_loop.c) for waiting times.
      class Workers < Claim
        ONE = "neverblock"
        TWO = "neverblock w2"
        FOUR = "neverblock w4 f1"
        PUMA_ONE = "puma w1 t5"
        PUMA_TWO = "puma w2 t5"
        PUMA_FOUR = "puma w4 t1"
        FALCON_ONE = "falcon w1"
        FALCON_TWO = "falcon w2"
        FALCON_FOUR = "falcon w4 h1"
        IODINE_ONE = "iodine w1 t5"
        IODINE_TWO = "iodine w2 t5"
        ITSI_ONE = "itsi w1 t5"
        ITSI_TWO = "itsi w2 t5"
        PAIRS = [[ONE, TWO], [PUMA_ONE, PUMA_TWO], [FALCON_ONE, FALCON_TWO],
                 [IODINE_ONE, IODINE_TWO], [ITSI_ONE, ITSI_TWO]].freeze
        TWOS = PAIRS.map(&:last).freeze
        FOURS = [FOUR, PUMA_FOUR, FALCON_FOUR].freeze

        CPU = "CPU-bound"
        HELLO = "hello world"
        BY_TURNS = "hello world by turns"
        LATE = "exponential service"
        STOPPED = "a worker stopped now and then"
        BURNER = "light beside a CPU burner"
        PLAIN = "light alone"

        # More than both workers run at once, so that none is ever without work.
        CPU_CLIENTS = 8
        HELLO_LIVES = 6
        LOAD = 0.8
        SERVICE_MS = 20
        WORKERS = 4
        LIGHT_RATE = 200
        # Times of ten milliseconds: two seconds.
        BURN = "/loop/200"

        SCALE_MIN = 1.85
        HELLO_EXTRA_US_MAX = 1.0
        IDEAL_RATIO_MAX = 1.3
        PUMA_RATIO_MAX = 0.5
        SLOW_A_STOP_MAX = 1
        LIGHT_P99_US_MAX = 20_000

        def title
          "workers: several processes behind one front, beside clusters of other servers"
        end

        def servers
          [*PAIRS.flatten, *FOURS]
        end

        def measurement
          MeasurementByLoad.new(Load => Measurement.new, Arrivals => OpenMeasurement.new,
                                Turns => TurnsMeasurement.new(app: app))
        end

        def headline(figures)
          if figures["cpu_us_over_other"]
            format("%+.2f us a request", figures["cpu_us_over_other"])
          else
            super
          end
        end

        def measures?(server, scenario)
          wanted = { CPU => PAIRS.flatten, HELLO => PAIRS.flatten, BY_TURNS => [TWO], LATE => FOURS,
                     STOPPED => FOURS, BURNER => TWOS, PLAIN => TWOS }
          wanted.fetch(scenario.name).include?(server.name)
        end

        # wrk is not niced. At the rates of the CPU-bound load its share of a core is small, which
        # the JSON shows. In the hello world load it takes a whole core: rates there say nothing
        # about scale, so CPU a request is compared.
        def scenarios
          [Scenario.new(name: CPU, title: "#{CPU_CLIENTS} clients, each request burns some 10 ms",
                        load: Load.new(connections: CPU_CLIENTS, path: "/loop/1")),
           Scenario.new(name: HELLO, title: "64 clients", load: Load.new(connections: 64)),
           Scenario.new(name: BY_TURNS,
                        title: "64 clients, a tenth of a second each in turn " \
                               "for one process and for 2 workers",
                        load: Turns.new(load: Load.new(connections: 64), other: one,
                                        lives: HELLO_LIVES),
                        warmup: nil, seconds_min: 30, seconds_min_quick: 4),
           Scenario.new(name: LATE,
                        title: "arrivals for #{(LOAD * 100).round} % of #{WORKERS} workers, " \
                               "service of #{SERVICE_MS} ms (mean)",
                        load: queue, seconds_min: 30, seconds_min_quick: 8),
           Scenario.new(name: STOPPED,
                        title: "the same, one worker stopped for " \
                               "#{Stopper::STOP_SECONDS.round} s every 5 s",
                        load: queue(stops: 5), seconds_min: 30, seconds_min_quick: 8),
           Scenario.new(name: BURNER,
                        title: "#{LIGHT_RATE} light requests a second, " \
                               "and one client whose requests burn 2 s each",
                        load: light(beside: BURN), seconds_min: 15, seconds_min_quick: 8),
           Scenario.new(name: PLAIN, title: "#{LIGHT_RATE} light requests a second", load: light)]
        end

        def tables(results)
          [scale_table(results), hello_table(results), turns_table(results),
           queue_table(results, LATE), queue_table(results, STOPPED), light_table(results)]
        end

        def verdicts(results)
          [Verdict.judge("CPU-bound requests a second, 2 workers over one process",
                         scale(results, ONE, TWO),
                         limit: "at least #{SCALE_MIN} x") { |ratio| ratio >= SCALE_MIN },
           Verdict.judge("hello world: CPU a request of 2 workers minus one process's (us)",
                         results.figure(TWO, BY_TURNS, "cpu_us_over_other"),
                         limit: "at most #{HELLO_EXTRA_US_MAX}",
                         format: Cell.method(:micros)) { |us| us <= HELLO_EXTRA_US_MAX },
           Verdict.judge("late binding: p99 over the ideal single queue's",
                         results.figure(FOUR, LATE, "p99_over_ideal"),
                         limit: "at most #{IDEAL_RATIO_MAX} x") { |ratio|
                           ratio <= IDEAL_RATIO_MAX
                         },
           Verdict.judge("late binding: p99 over Puma's",
                         results.ratio(FOUR, PUMA_FOUR, LATE, "p99_us"),
                         limit: "under #{PUMA_RATIO_MAX} x") { |ratio| ratio < PUMA_RATIO_MAX },
           Verdict.judge("a worker stopped: p99 over the ideal queue's with the same stops",
                         results.figure(FOUR, STOPPED, "p99_over_played"),
                         limit: "at most #{IDEAL_RATIO_MAX} x") { |ratio|
                           ratio <= IDEAL_RATIO_MAX
                         },
           Verdict.judge("a worker stopped: requests over 500 ms for each stop, worst round",
                         worst_slow(results),
                         limit: "at most #{SLOW_A_STOP_MAX}, what it was running",
                         format: ->(summary) { Cell.spread(summary, digits: 2) }) { |count|
                           count <= SLOW_A_STOP_MAX
                         },
           Verdict.judge("light requests beside a CPU burner: p99, ms",
                         results.figure(TWO, BURNER, "p99_us"),
                         limit: "at most #{LIGHT_P99_US_MAX / 1000}",
                         format: Cell.method(:millis)) { |us| us <= LIGHT_P99_US_MAX },
           Verdict.no_errors(results, ONE, [CPU, HELLO], named: true),
           Verdict.no_errors(results, TWO, [CPU, HELLO, BY_TURNS, BURNER, PLAIN], named: true),
           Verdict.no_errors(results, FOUR, [LATE, STOPPED], named: true)]
        end

        private

        def one
          candidates.find { |server| server.name == ONE }
        end

        def queue(stops: nil)
          Arrivals.new(rate: LOAD * WORKERS * 1000.0 / SERVICE_MS, path: "/sleep/",
                       service_ms: SERVICE_MS, servers: WORKERS, stops: stops)
        end

        def light(beside: nil)
          Arrivals.new(rate: LIGHT_RATE, path: "/", connections: 64, beside: beside)
        end

        def scale(results, one, two)
          results.ratio(two, one, CPU, "rate")
        end

        def worst_slow(results)
          slow = results.figure(FOUR, STOPPED, "slow_a_stop")
          slow && Summary.of([slow.high])
        end

        def scale_table(results)
          rows = PAIRS.flat_map do |one, two|
            [one, two].filter_map do |server|
              rate = results.figure(server, CPU, "rate") or next
              [server, Cell.spread(rate),
               server == two ? Cell.ratio(scale(results, one, two)) : Cell::NONE,
               Cell.millis(results.figure(server, CPU, "cpu_us_per_request")),
               Cell.spread(results.figure(server, CPU, "server_cpu_share"), digits: 2),
               Cell.percent(results.figure(server, CPU, "generator_cpu_share")),
               Cell.spread(results.figure(server, CPU, "others_cpu_share"), digits: 2),
               Cell.number(results.errors(server, CPU))]
            end
          end
          Table.new("CPU-bound requests, #{CPU_CLIENTS} clients",
                    headers: ["server", "requests/s", "over one worker", "CPU ms/request",
                              "cores it used", "load generator", "cores others used", "errors"],
                    rows: rows)
        end

        def hello_table(results)
          rows = PAIRS.flat_map do |one, two|
            [one, two].filter_map do |server|
              cost = results.figure(server, HELLO, "cpu_us_per_request") or next
              more = results.difference(two, one, HELLO, "cpu_us_per_request") if server == two
              [server, Cell.micros(cost), server == two ? Cell.micros(more) : Cell::NONE,
               Cell.spread(results.figure(server, HELLO, "rate")),
               Cell.micros(results.figure(server, HELLO, "p50_us")),
               Cell.micros(results.figure(server, HELLO, "p99_us")),
               Cell.number(results.errors(server, HELLO))]
            end
          end
          Table.new("Hello world, 64 clients",
                    headers: ["server", "CPU us/request", "minus one worker's", "requests/s",
                              "p50 us", "p99 us", "errors"],
                    rows: rows)
        end

        # Runs of two servers one after the other differ by more than the claim, and so do two lives
        # of one server. So both run by turns.
        def turns_table(results)
          names = %w[requests cpu_us_per_request other_cpu_us_per_request cpu_us_over_other]
          requests, *micros = figures = names.map { |name| results.figure(TWO, BY_TURNS, name) }
          rows = []
          if figures.all?
            rows << [TWO, Cell.spread(requests), *micros.map { |figure| Cell.micros(figure) }]
          end
          Table.new("Hello world, 64 clients, a tenth of a second each in turn, #{HELLO_LIVES} " \
                    "lives in each round: #{TWO} and #{ONE}",
                    headers: ["server", "requests", "CPU us/request", "#{ONE}'s", "more"],
                    rows: rows)
        end

        def queue_table(results, scenario)
          rows = FOURS.filter_map do |server|
            found = results.figure(server, scenario, "p99_us") or next
            [server, Cell.millis(results.figure(server, scenario, "p50_us")), Cell.millis(found),
             Cell.millis(results.figure(server, scenario, "ideal_p99_us")),
             Cell.ratio(results.figure(server, scenario, "p99_over_ideal")),
             Cell.millis(results.figure(server, scenario, "played_p99_us")),
             Cell.ratio(results.figure(server, scenario, "p99_over_played")),
             Cell.millis(results.figure(server, scenario, "max_us")),
             Cell.spread(results.figure(server, scenario, "slow_count")),
             Cell.spread(results.figure(server, scenario, "stops")),
             Cell.spread(results.figure(server, scenario, "late_p99_us")),
             Cell.number(results.errors(server, scenario))]
          end
          Table.new("#{WORKERS} workers, one request each at a time, arrivals for " \
                    "#{(LOAD * 100).round} % of them: #{scenario}",
                    headers: ["server", "p50 ms", "p99 ms", "M/M/#{WORKERS} p99 ms", "over it",
                              "the same requests, ideal", "over it", "longest ms", "over 500 ms",
                              "stops",
                              "generator late us (p99)", "errors"], rows: rows)
        end

        def light_table(results)
          rows = TWOS.filter_map do |server|
            asked = [PLAIN, BURNER].any? { |scenario| results.figure(server, scenario, "p99_us") }
            next unless asked

            [server, *waits(results, server, PLAIN),
             Cell.percent(results.figure(server, PLAIN, "worker_share_max")),
             *waits(results, server, BURNER),
             Cell.spread(results.figure(server, BURNER, "beside_count")),
             Cell.number(results.errors(server, BURNER))]
          end
          Table.new("#{LIGHT_RATE} light requests a second to 2 workers, alone and beside one " \
                    "request at a time that burns 2 s",
                    headers: ["server", "p50 ms alone", "p99 ms", "longest ms",
                              "busiest worker's share", "p50 ms beside", "p99 ms", "longest ms",
                              "burners answered", "errors"],
                    rows: rows)
        end

        def waits(results, server, scenario)
          %w[p50_us p99_us max_us].map do |metric|
            Cell.millis(results.figure(server, scenario, metric))
          end
        end
      end
    end
  end
end
