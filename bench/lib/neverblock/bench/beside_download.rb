# frozen_string_literal: true

require "uri"

module NeverBlock
  module Bench
    # Requests of a small file at a fixed interval, on an HTTP/2 connection on which a large file is
    # downloaded all the while: the paths of both, and microseconds.
    Beside = Struct.new(:large, :small, :interval_us, keyword_init: true) do
      def initialize(large:, small:, interval_us: 10_000)
        super
        freeze
      end

      # @return [Integer] of the load generator
      def threads = 1
    end

    # The load generator of Beside: runs benchmark/c/beside_download.c.
    class BesideDownload
      # Seconds it may run over its time.
      GRACE_SECONDS = 20
      PERCENTILES = { "p50" => 0.5, "p90" => 0.9, "p99" => 0.99, "p99.9" => 0.999 }.freeze

      # @param home [String] folder of the compiled program
      def initialize(home: Bundle.home(ROOT))
        @program = CProgram.new("beside_download", home: home, libraries: %w[nghttp2 ssl crypto])
      end

      # @param load [Beside]
      # @param url [String] of the server, without path
      # @param seconds [Numeric] time of sending
      # @return [Wrk::Outcome] its requests are those of the small file, its bytes the large one's
      # @raise [Error] when it cannot be built, or fails
      def run(load, url:, seconds:)
        address = URI(url)
        arguments = [address.host, address.port, load.large, load.small, load.interval_us, seconds]
        text, cpu_seconds = @program.run(arguments, limit_seconds: seconds + GRACE_SECONDS)
        self.class.parse(text, cpu_seconds: cpu_seconds)
      end

      class << self
        # @param text [String] all of the program's output
        # @param cpu_seconds [Float, nil] CPU time of the program
        # @return [Wrk::Outcome]
        # @raise [Error] when the output is not whole
        def parse(text, cpu_seconds: nil)
          raise CProgram.failure(text) unless text.match?(/\A\d+ \d+ \d+\n(?:\d+\n)+\z/)

          head, *times = text.lines
          microseconds, bytes, failed = head.split.map(&:to_i)
          Wrk::Outcome.new(requests: times.size, seconds: microseconds / 1e6, bytes: bytes,
                           errors: { "failed" => failed }, cpu_seconds: cpu_seconds,
                           latency_us: latencies(times.map(&:to_i).sort))
        end

        private

        def latencies(sorted)
          PERCENTILES.transform_values { |share| sorted[(share * (sorted.size - 1)).round] }
                     .merge("mean" => sorted.sum.fdiv(sorted.size).round(1), "max" => sorted.last)
        end
      end
    end
  end
end
