# frozen_string_literal: true

# The command lines of `neverblock status` and `neverblock top`, and their --help.

require "neverblock/cli/command_line"
require "neverblock/watch/address"

module NeverBlock
  module CLI
    class WatchOptions < CommandLine
      INTERVAL_S = (0.1..3600.0)
      COUNT = (1..1_000_000_000)

      WHERE = <<~TEXT.chomp
        \    --admin URL       the server's admin address, http://HOST:PORT or unix:///PATH; default: `admin` of
                              the configuration file
        -C, --config FILE     that file; default config/neverblock.rb where it exists, - reads none
      TEXT

      HELP = {
        "status" => <<~TEXT,
          Usage: neverblock status [options]

          Figures of a running server, once: connections, requests, latency, executors, memory. They come from the
          server's native half: it answers also while Ruby is stuck.

          #{WHERE}
              --json            the document as the server gave it (/status.json), for programs
          -h, --help            show this

          Exit status: 0 when it runs and takes requests; 1 when it is starting, draining, or out of reach.

          latency   head: from a request's first byte to the end of its head; body: until all of it is here; queue:
                    until an executor takes it; run: until the application's response begins; write: until its last
                    byte has left; total: all of it. p99: 99 of 100 took that long at most
          executor  a Ruby thread. running, parked, ready: its fibers with a request, those that wait, those that may
                    go on; busy for: how long it has run one fiber without a pause, which holds the others up;
                    lag: how long a fiber that may go on has waited for its turn

          Examples:
              neverblock --admin http://127.0.0.1:9293            start a server with its figures on
              neverblock status --admin http://127.0.0.1:9293
              neverblock status --admin unix:///run/app-admin.sock --json | jq .requests
              neverblock status >/dev/null || echo "down"
        TEXT
        "top" => <<~TEXT
          Usage: neverblock top [options]

          Figures of a running server, live: rates between two readings, latency, executors. Into a pipe or a file it
          writes a line a reading.

          #{WHERE}
              --interval S      seconds between two readings, 0.1 to 3600; default 1
          -n, --count N         end after so many readings; default: when you say so
          -h, --help            show this

          q or Ctrl-C ends it. "now" is the mean between two readings; p50, p90, p99 and max are of the server's whole
          life (neverblock status --help says of what). An executor that has run one fiber for over 100 ms is marked:
          its other requests wait. When the server goes away, top says so and tries again. NO_COLOR=1: no colours.

          Examples:
              neverblock --admin http://127.0.0.1:9293            start a server with its figures on
              neverblock top --admin http://127.0.0.1:9293
              neverblock top --admin http://127.0.0.1:9293 --interval 10 >> figures.log
        TEXT
      }.freeze

      # @return [Boolean]
      attr_reader :json
      # @return [Float] seconds
      attr_reader :interval_s
      # @return [Integer, nil]
      attr_reader :count

      # @param command [String] "status" or "top"
      # @param argv [Array<String>] what follows it
      # @raise [ConfigError]
      def initialize(command, argv)
        @json = false
        @interval_s = 1.0
        super
      end

      # Reads the configuration file where no address was named.
      # @return [Config::Bind]
      # @raise [ConfigError]
      def address
        Watch::Address.find(@admin, @config)
      end

      private

      def declare
        option("--admin URL") { |url| @admin = url }
        option("-C", "--config FILE") { |file| @config = file }
        return option("--json") { @json = true } if @command == "status"

        option("--interval S") { |text| @interval_s = within("--interval", text, INTERVAL_S, "a number of seconds") { Float(text) } }
        option("-n", "--count N") { |text| @count = within("-n", text, COUNT, "a whole number") { Integer(text, 10) } }
      end

      def mend(word)
        word.include?("://") ? "write --admin #{word}" : "an address goes with --admin, a configuration file with -C"
      end

      def within(name, text, range, kind)
        value = begin
          yield
        rescue ArgumentError
          nil
        end
        return value if value && range.cover?(value)

        raise ConfigError, "#{name} is #{kind} from #{range.begin} to #{format("%d", range.end)}; seen #{text.inspect}"
      end
    end
  end
end
