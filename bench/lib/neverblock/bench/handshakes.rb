# frozen_string_literal: true

require "uri"

module NeverBlock
  module Bench
    # Connections one after the other, each with a request or without: whether each resumes the
    # session of the one before, and the path, or nil.
    Handshakes = Struct.new(:resumed, :path, keyword_init: true) do
      def initialize(resumed: false, path: nil)
        super
        freeze
      end

      # @return [Integer] of the load generator
      def threads = 1
    end

    # The load generator of TLS handshakes, one client: runs benchmark/c/handshakes.c.
    class HandshakeClient
      # Seconds it may run over its time.
      GRACE_SECONDS = 20
      OUTPUT = /\A(\d+) (\d+) (\d+) (\d+)\n\z/

      # @param home [String] folder of the compiled program
      def initialize(home: Bundle.home(ROOT))
        @program = CProgram.new("handshakes", home: home, libraries: %w[ssl crypto])
      end

      # @param load [Handshakes]
      # @param url [String] of the server, without path
      # @param seconds [Numeric]
      # @return [Wrk::Outcome] its requests are the connections; an error is each whose handshake
      #   was of the other kind
      # @raise [Error] when it cannot be built, fails or does not end
      def run(load, url:, seconds:)
        address = URI(url)
        kind = load.resumed ? "reuse" : "new"
        text, cpu_seconds = @program.run([address.host, address.port, kind, load.path, seconds],
                                         limit_seconds: seconds + GRACE_SECONDS)
        self.class.parse(text, cpu_seconds: cpu_seconds)
      end

      # @param text [String] all of the program's output
      # @param cpu_seconds [Float, nil] CPU time of the program
      # @return [Wrk::Outcome]
      # @raise [Error] when the output is not whole
      def self.parse(text, cpu_seconds: nil)
        microseconds, count, other, bytes = text.match(OUTPUT)&.captures&.map(&:to_i)
        raise CProgram.failure(text) unless count

        Wrk::Outcome.new(requests: count, seconds: microseconds / 1e6, bytes: bytes,
                         errors: { "other handshake" => other }, latency_us: {},
                         cpu_seconds: cpu_seconds)
      end
    end
  end
end
