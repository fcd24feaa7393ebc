# frozen_string_literal: true

# Measures what the scheduler costs each time a fiber waits and is woken: by a timer, a descriptor,
# another thread. Async and io-event run the same programs. Figures are CPU time, so the length of a
# wait does not count.

module NeverBlock
  module Bench
    module Claims
      # One operation a scenario.
      class Switch < ProgramClaim
        OWN = "neverblock"
        PEER = "io-event epoll"
        FILE = "benchmark/apps/switch.rb"
        TIMER = "timer, 1000 fibers"
        PAIR = "I/O, 1 pair"
        PAIRS = "I/O, 100 pairs"
        # A batch of a million sleeps, and the warm-up, beside the seconds asked for.
        TASKS = {
          "resume and Fiber.yield" => ["resume", 1], "sleep(0), 100 fibers" => ["yield", 100],
          TIMER => ["timer", 1000], PAIR => ["io", 2], PAIRS => ["io", 200],
          "wake by a thread, 1 fiber" => ["thread", 1],
          "wake by a thread, 100 fibers" => ["thread", 100], "localhost, 100 fibers" => ["dns", 100]
        }.freeze
        # One operation takes about a microsecond: longer runs tell no more.
        SECONDS_MAX = 2
        RATIO_MAX = 1.0
        MILLION_SECONDS_MAX = 5

        def title
          "switch: what a wait and its wake cost, beside Async and io-event"
        end

        def candidates
          @candidates ||= [
            program(OWN, "NeverBlock::Scheduler", bundle: ruby_bundle),
            program("async epoll", "Async::Scheduler", way: "async"),
            program("async uring", "Async::Scheduler", way: "async"),
            program(PEER, "io-event's selector and timers alone", way: "io_event"),
            program("io-event uring", "io-event's selector and timers alone", way: "io_event")
          ]
        end

        def scenarios
          TASKS.map do |name, (task, fibers)|
            Scenario.new(name: name, title: "#{task} in #{fibers} fibers",
                         load: Work.new(task: task, fibers: fibers), seconds_max: SECONDS_MAX)
          end
        end

        def tables(results)
          [table(results, "CPU time of an operation, ns") { |name, scenario|
             Cell.spread(results.figure(name, scenario, "cpu_us_per_request"), scale: 1000)
           },
           table(results, "CPU time over #{PEER}'s") { |name, scenario|
             Cell.ratio(results.ratio(name, PEER, scenario, "cpu_us_per_request"))
           },
           table(results, "Operations a second") { |name, scenario|
             Cell.spread(results.figure(name, scenario, "rate"))
           }]
        end

        def verdicts(results)
          [TIMER, PAIR, PAIRS].map { |scenario| cost_verdict(results, scenario) } <<
            million_verdict(results)
        end

        private

        def program(name, settings, way: name, bundle: async_bundle)
          selector = { "epoll" => "EPoll", "uring" => "URing" }[name.split.last]
          Program.new(name, settings: settings, file: FILE, way: way, bundle: bundle,
                            environment: selector ? { "IO_EVENT_SELECTOR" => selector } : {})
        end

        # A folder of its own. Whether io-event has io_uring is decided when it is built, and
        # Falcon's must not be rebuilt.
        def async_bundle
          @async_bundle ||= Bundle.new("async", shared: false)
        end

        def table(results, title)
          rows = TASKS.keys.map do |scenario|
            [scenario, *results.servers.map { |name| yield name, scenario }]
          end
          Table.new(title, headers: ["operation", *results.servers], rows: rows)
        end

        def cost_verdict(results, scenario)
          Verdict.judge("CPU time of a wake, #{scenario}, over #{PEER}'s",
                        results.ratio(OWN, PEER, scenario, "cpu_us_per_request"),
                        limit: "at most #{RATIO_MAX} x") { |ratio| ratio <= RATIO_MAX }
        end

        def million_verdict(results)
          rate = results.figure(OWN, TIMER, "rate")
          seconds = rate && Summary.new(median: 1e6 / rate.median, low: 1e6 / rate.high,
                                        high: 1e6 / rate.low, rounds: rate.rounds)
          Verdict.judge("a million sleeps of random length in 1000 fibers (s)", seconds,
                        limit: "under #{MILLION_SECONDS_MAX}",
                        format: Cell.method(:micros)) { |median| median < MILLION_SECONDS_MAX }
        end
      end
    end
  end
end
