# frozen_string_literal: true

require "uri"

module NeverBlock
  module Bench
    # Requests that come when they come: a rate, and how long each is to take. The same seed gives the same requests to every server.
    # service_ms: mean of exponentially distributed times that the application is told in the path; nil: the path as it is. servers: how many of
    # them share the work in the ideal. stops: how often a worker is stopped for STOP_SECONDS, in seconds from one to the next; nil: never. beside: a path that
    # one more client asks for again and again.
    Arrivals = Struct.new(:rate, :path, :service_ms, :connections, :servers, :stops, :beside, keyword_init: true) do
      def initialize(rate:, path:, service_ms: nil, connections: 256, servers: nil, stops: nil, beside: nil)
        super
        freeze
      end

      # @param seconds [Numeric]
      # @param seed [Integer]
      # @return [Array<Job>]
      def jobs(seconds, seed)
        rng = Random.new(seed)
        at = 0.0
        found = []
        while (at += exponential(rng, 1.0 / rate)) < seconds
          service = service_ms && exponential(rng, service_ms / 1000.0)
          found << Job.new(at, service, service ? "#{path}#{(service * 1e6).round}" : path)
        end
        found
      end

      private

      def exponential(rng, mean)
        -Math.log(1.0 - rng.rand) * mean
      end
    end

    # One request of a schedule: due (seconds from the start), service (seconds, or nil), path.
    Job = Struct.new(:due, :service, :path)

    # Sends a schedule through benchmark/c/open_loop.c.
    class OpenLoop
      # How long the last answers may take.
      GRACE_SECONDS = 20
      # To connect, beside schedule and grace.
      START_SECONDS = 20

      # What became of a job: due, sent and done in microseconds from the start; sent and done are negative where they did not happen. worker: its process id, 0
      # where the answer did not tell.
      Answer = Struct.new(:due_us, :sent_us, :done_us, :status, :worker) do
        def good?
          status == 200
        end

        # @return [Integer] microseconds from when it was due, not from when it was sent
        def latency_us
          done_us - due_us
        end
      end

      # @param home [String] where the program is built
      def initialize(home: Bundle.home(ROOT))
        @program = CProgram.new("open_loop", home: home)
      end

      # @param jobs [Array<Job>]
      # @param url [String]
      # @param connections [Integer] kept, opened before the first request
      # @return [Array<Answer>] one for each job
      # @raise [Error] when it cannot be built, or fails
      def run(jobs, url:, connections:)
        uri = URI(url)
        schedule = jobs.map { |job| "#{(job.due * 1e6).round} #{job.path}\n" }.join
        limit = jobs.last.due + GRACE_SECONDS + START_SECONDS
        text = Child.capture([@program.build, uri.host, uri.port.to_s, connections.to_s, GRACE_SECONDS.to_s], limit_seconds: limit, input: schedule)
        self.class.parse(text, jobs.size)
      end

      # @param text [String] all that the program printed
      # @param count [Integer] of jobs
      # @return [Array<Answer>]
      def self.parse(text, count)
        rows = text.lines.map { |line| line.split.map { |word| Integer(word, 10, exception: false) } }
        return rows.map { |row| Answer.new(*row) } if rows.size == count && rows.all? { |row| row.size == 5 && row.all? }

        raise Error, "the load generator failed: #{text.lines.last(2).join.strip[0, 200]}"
      end
    end
  end
end
