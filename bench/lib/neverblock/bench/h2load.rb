# frozen_string_literal: true

module NeverBlock
  module Bench
    # Requests of HTTP/2: connections, each with as many streams at once, and the path.
    Streams = Struct.new(:connections, :streams, :path, keyword_init: true) do
      def initialize(connections:, streams:, path: "/")
        super
        freeze
      end

      # @return [Integer] of the load generator
      def threads = 1
    end

    # The load generator of HTTP/2: runs nghttp2's h2load, and reads its summary.
    class H2load
      MISSING = "h2load is not installed: bin/setup --all installs it (package nghttp2-client)"
      # Seconds h2load may run over its time.
      GRACE_SECONDS = 20

      REQUESTS = /^requests: .* (\d+) done,.* (\d+) failed, (\d+) errored, (\d+) timeout/
      STATUSES = /^status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx/
      TRAFFIC = /^traffic: \S+ \((\d+)\) total/
      # The least, the most, the mean.
      LATENCY = /^time for request: +\S+ +([\d.]+)(us|ms|s|m) +([\d.]+)(us|ms|s|m)/
      MICROSECONDS = { "us" => 1, "ms" => 1e3, "s" => 1e6, "m" => 60e6 }.freeze

      class << self
        # @param text [String] all of h2load's output
        # @param seconds [Numeric] for how long it sent
        # @param cpu_seconds [Float, nil] CPU time of h2load itself
        # @return [Wrk::Outcome] without percentiles, which h2load does not print
        # @raise [Error] when the output has no summary
        def parse(text, seconds:, cpu_seconds: nil)
          unless text.match?(REQUESTS) && text.match?(STATUSES)
            raise Error, "h2load gave no summary; its output: " \
                         "#{text.strip.lines.last(3).join.strip}"
          end

          done, failed, errored, timeout = text.match(REQUESTS).captures.map(&:to_i)
          Wrk::Outcome.new(requests: done, seconds: seconds.to_f, bytes: text[TRAFFIC, 1].to_i,
                           errors: errors(text, failed - errored - timeout, errored, timeout),
                           latency_us: latencies(text), cpu_seconds: cpu_seconds)
        end

        # @return [String, nil] h2load's version; nil when it is not installed
        def version
          IO.popen(["h2load", "--version"], err: %i[child out], &:read)[%r{nghttp2/(\S+)}, 1]
        rescue Errno::ENOENT
          nil
        end

        private

        # h2load counts statuses of 400 and above as failed too.
        def errors(text, failed, errored, timeout)
          refused = text.match(STATUSES).captures.last(2).sum(&:to_i)
          { "status" => refused, "failed" => [failed - refused, 0].max, "read" => errored,
            "timeout" => timeout }
        end

        def latencies(text)
          found = text.match(LATENCY) or return {}
          most, mean = found.captures.each_slice(2).map do |number, unit|
            (number.to_f * MICROSECONDS.fetch(unit)).round(1)
          end
          { "max" => most, "mean" => mean }
        end
      end

      # @param load [Streams]
      # @param url [String] of the server, without path
      # @param seconds [Numeric] time of sending; h2load takes whole ones
      # @return [Wrk::Outcome]
      # @raise [Error] when h2load fails or does not end
      def run(load, url:, seconds:)
        before = Child.cpu_seconds
        text = Child.capture(command(load, url, seconds), limit_seconds: seconds + GRACE_SECONDS)
        self.class.parse(text, seconds: seconds.ceil, cpu_seconds: Child.cpu_seconds - before)
      rescue Errno::ENOENT
        raise Error, MISSING
      end

      # @return [Array<String>] the command line
      def command(load, url, seconds)
        ["h2load", "-t", "1", "-c", load.connections.to_s, "-m", load.streams.to_s,
         "-D", seconds.ceil.to_s, "#{url}#{load.path}"]
      end
    end
  end
end
