# frozen_string_literal: true

module NeverBlock
  module Bench
    # One run with arrivals that do not wait for responses. Latency counts from the time a request
    # was due; it is compared with that of the ideal queue for the same requests.
    class OpenMeasurement
      WARMUP_SEED = 7
      # Lateness of the generator, in microseconds, above which it falsifies the measurement.
      LATE_US_MAX = 2_000
      # Latency, in microseconds, of a request that was held up by something else than its turn.
      SLOW_US = 500_000

      # @param load_generator [OpenLoop]
      def initialize(load_generator: OpenLoop.new)
        @load_generator = load_generator
        @rounds = Hash.new(0)
      end

      # All servers get the same requests in a round; each round has other ones.
      # @param process [ServerProcess] just started
      # @param scenario [Scenario] its load is Arrivals
      # @param settings [Settings]
      # @param around [#call] called with the measured block; calls it once during another activity
      # @return [Hash{String => Object}] the figures, flat
      def take(process, scenario, settings, around: ->(&measured) { measured.call })
        load = scenario.load
        seed = @rounds[[process.name, scenario.name]] += 1
        send_all(load.jobs(settings.warmup_seconds, WARMUP_SEED), load, process)
        jobs = load.jobs(scenario.seconds(settings), seed)
        before = clocks(process)
        answers, stops, beside = under_trouble(process, load, seed) do
          around.call { send_all(jobs, load, process) }
        end
        spent = clocks(process).zip(before).map { |after, at| after - at }
        raise Error, "the server ended under load: #{process.last_words}" unless process.alive?

        found = figures(answers, spent).merge(ideal(load, jobs, stops, answers), shares(answers))
        found.merge("beside_count" => beside, **stopping(found, stops))
      end

      # @param sorted [Array<Numeric>]
      # @return [Numeric, nil] the smallest value that `share` of all values do not exceed
      def self.percentile(sorted, share)
        sorted[(share * sorted.size).ceil - 1] unless sorted.empty?
      end

      private

      def stopping(found, stops)
        slow = (found["slow_count"].to_f / stops.size).round(3) unless stops.empty?
        { "stops" => stops.size, "slow_a_stop" => slow }
      end

      def send_all(jobs, load, process)
        @load_generator.run(jobs, url: process.url, connections: load.connections)
      end

      def under_trouble(process, load, seed)
        (answers, stops), beside = RepeatedRequest.new(process.url).during(load.beside) do
          Stopper.new(process.tree, Random.new(seed)).during(load.stops) { yield }
        end
        [answers, stops, beside]
      end

      # CPU seconds of the server, of this process, of the generator, of the whole machine; the
      # time.
      def clocks(process)
        times = Process.times
        [process.tree.cpu_seconds, times.utime + times.stime, Child.cpu_seconds,
         Machine.work_seconds, Process.clock_gettime(Process::CLOCK_MONOTONIC)]
      end

      def figures(answers, spent)
        server, runner, generator, machine, wall = spent
        others = [(machine - server - runner - generator) / wall, 0].max
        late = lateness(answers)
        counted(answers, wall).merge(
          "late_p99_us" => late,
          "server_cpu_share" => (server / wall).round(3),
          "cpu_us_per_request" => (server * 1e6 / answers.size).round(3),
          "generator_cpu_share" => (generator / wall).round(3),
          "others_cpu_share" => others.round(3),
          "flags" => flags(errors_of(answers), late, others)
        )
      end

      def counted(answers, wall)
        good = answers.select(&:good?)
        { "requests" => answers.size, "seconds" => wall.round(3),
          "rate" => (good.size / (answers.last.due_us / 1e6)).round(2),
          "errors" => errors_of(answers), "error_count" => answers.size - good.size,
          **latencies(good),
          "slow_count" => good.count { |answer| answer.latency_us > SLOW_US } }
      end

      def lateness(answers)
        sent = answers.reject { |answer| answer.sent_us.negative? }
        percentile(sent.map { |answer| answer.sent_us - answer.due_us }, 0.99)
      end

      def errors_of(answers)
        bad = answers.reject(&:good?)
        bad.map { |answer| answer.status.zero? ? "none" : answer.status.to_s }.tally
      end

      def latencies(good)
        all = good.map(&:latency_us)
        { "p50_us" => percentile(all, 0.5), "p90_us" => percentile(all, 0.9),
          "p99_us" => percentile(all, 0.99), "p99_9_us" => percentile(all, 0.999),
          "max_us" => all.max,
          "mean_us" => all.empty? ? nil : (all.sum.to_f / all.size).round(1) }
      end

      # ideal: by the formula. played: by a simulation of these requests and stops.
      def ideal(load, jobs, stops, answers)
        return {} unless load.servers

        ideal = formula(load) * 1e6
        played = played(load, jobs, stops) * 1e6
        measured = percentile(answers.select(&:good?).map(&:latency_us), 0.99)
        { "ideal_p99_us" => ideal.round, "played_p99_us" => played.round,
          "p99_over_ideal" => measured && (measured / ideal).round(4),
          "p99_over_played" => measured && (measured / played).round(4) }
      end

      # @return [Float] p99 in seconds
      def formula(load)
        service = load.service_ms / 1000.0
        share = load.rate * service / load.servers
        QueueModel.new(servers: load.servers, load: share, service: service).percentile(0.99)
      end

      # @return [Float] p99 in seconds
      def played(load, jobs, stops)
        times = jobs.map { |job| [job.due, job.service] }
        percentile(QueueModel.play(times, servers: load.servers, stops: stops), 0.99)
      end

      # The distribution of requests on the workers: the busiest one's share.
      def shares(answers)
        counts = answers.map(&:worker).reject(&:zero?).tally.values
        return {} if counts.empty?

        { "workers_seen" => counts.size,
          "worker_share_max" => (counts.max.to_f / counts.sum).round(4) }
      end

      def flags(errors, late, others)
        found = [Flags.errors(errors)]
        found << "the load generator was late" if late.nil? || late > LATE_US_MAX
        [*found, Flags.others(others)].compact
      end

      def percentile(values, share)
        self.class.percentile(values.sort, share)
      end
    end

    # Measures each load by the measurement for its class.
    class MeasurementByLoad
      # @param measurements [Hash{Class => #take}] by the class of the scenario's load
      def initialize(measurements)
        @measurements = measurements
      end

      def take(process, scenario, settings)
        @measurements.fetch(scenario.load.class).take(process, scenario, settings)
      end
    end
  end
end
