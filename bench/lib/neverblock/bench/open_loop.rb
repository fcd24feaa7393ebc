# frozen_string_literal: true

require "uri"

module NeverBlock
  module Bench
    # A schedule of requests that do not wait for responses. The same seed gives the same requests
    # to every server.
    #
    # service_ms: mean of exponentially distributed service times, which the path tells the
    # application; nil: none. servers: number of servers in the ideal queue. stops: interval in
    # seconds at which a worker is stopped for STOP_SECONDS; nil: never. beside: a path that another
    # client requests again and again.
    ARRIVALS_FIELDS = %i[rate path service_ms connections servers stops beside].freeze
    private_constant :ARRIVALS_FIELDS

    Arrivals = Struct.new(*ARRIVALS_FIELDS, keyword_init: true) do
      def initialize(rate:, path:, service_ms: nil, connections: 256, servers: nil, stops: nil,
                     beside: nil)
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

    # Sends a schedule by benchmark/c/open_loop.c.
    class OpenLoop
      # Seconds for the last responses.
      GRACE_SECONDS = 20
      # Seconds to connect.
      START_SECONDS = 20

      # The result of a job. due, sent and done are microseconds from the start; sent and done are
      # negative if they did not happen. worker: its process id; 0: unknown.
      Answer = Struct.new(:due_us, :sent_us, :done_us, :status, :worker) do
        def good?
          status == 200
        end

        # @return [Integer] microseconds since it was due, not since it was sent
        def latency_us
          done_us - due_us
        end
      end

      # @param home [String] folder of the compiled program
      def initialize(home: Bundle.home(ROOT))
        @program = CProgram.new("open_loop", home: home)
      end

      # @param jobs [Array<Job>]
      # @param url [String]
      # @param connections [Integer] number of persistent connections, opened before the first
      #   request
      # @return [Array<Answer>] one for each job
      # @raise [Error] when it cannot be built, or fails
      def run(jobs, url:, connections:)
        uri = URI(url)
        schedule = jobs.map { |job| "#{(job.due * 1e6).round} #{job.path}\n" }.join
        limit = jobs.last.due + GRACE_SECONDS + START_SECONDS
        command = [@program.build, uri.host, uri.port.to_s, connections.to_s, GRACE_SECONDS.to_s]
        text = Child.capture(command, limit_seconds: limit, input: schedule)
        self.class.parse(text, jobs.size)
      end

      # @param text [String] all of the program's output
      # @param count [Integer] number of jobs
      # @return [Array<Answer>]
      def self.parse(text, count)
        rows = text.lines.map do |line|
          line.split.map { |word| Integer(word, 10, exception: false) }
        end
        whole = rows.size == count && rows.all? { |row| row.size == 5 && row.all? }
        return rows.map { |row| Answer.new(*row) } if whole

        raise CProgram.failure(text)
      end
    end
  end
end
