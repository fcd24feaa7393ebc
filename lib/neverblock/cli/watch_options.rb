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
        \    --admin URL       the server's admin address, http://HOST:PORT or unix:///PATH;
                              default: `admin` of the configuration file
        -C, --config FILE     the configuration file; default config/neverblock.rb where it exists;
                              - reads none
      TEXT

      HELP = {
        "status" => <<~TEXT,
          Usage: neverblock status [options]

          Figures of a running server, once: connections, requests, latency, executors, memory.
          The server's native part answers, also while Ruby is stuck.

          #{WHERE}
              --json            print the server's own document (/status.json), for programs
          -h, --help            show this help

          Exit status: 0 when the server runs and accepts requests; 1 when it is starting,
          draining, or not reachable.

          latency   head: from the first byte of a request to the end of its head; body: until
                    the body is complete; queue: until an executor takes the request; run: until
                    the application's response begins; write: until its last byte is sent;
                    total: all of it. p99: 99 of 100 requests took at most that long
          executor  a Ruby thread. running: its fibers with a request; parked: those that wait;
                    ready: those that can run; busy for: how long it has run one fiber without
                    a pause, which delays the others; lag: how long a ready fiber has waited
                    for its turn

          Examples:
              neverblock --admin http://127.0.0.1:9293       start a server with its figures on
              neverblock status --admin http://127.0.0.1:9293
              neverblock status --admin unix:///run/app-admin.sock --json | jq .requests
              neverblock status >/dev/null || echo "down"
        TEXT
        "top" => <<~TEXT
          Usage: neverblock top [options]

          Figures of a running server, live: rates between two readings, latency, executors; and
          its requests, with what each waits for. Into a pipe or a file it writes one line for
          each reading.

          #{WHERE}
              --interval S      seconds between two readings, 0.1 to 3600; default 1
          -n, --count N         end after N readings; default: run until told to end
              --json            one JSON object for each reading: time, status (/status.json),
                                fibers (/fibers.json); it ends with the server
          -h, --help            show this help

          Keys: Tab switches between figures and requests. Among requests s sorts by the next
          column, r reverses, Up, Down, PgUp and PgDn scroll. q or Ctrl-C ends it.

          "now" is the mean between two readings; p50, p90, p99 and max cover the server's whole
          life (neverblock status --help explains them, neverblock fibers --help the columns of
          requests). An executor that has run one fiber for over 100 ms is marked: its other
          requests wait. When the server is not reachable, top says so and tries again.
          NO_COLOR=1: no colours.

          Examples:
              neverblock --admin http://127.0.0.1:9293       start a server with its figures on
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
      # @param argv [Array<String>] the words after it
      # @raise [ConfigError]
      def initialize(command, argv)
        @json = false
        @interval_s = 1.0
        super
      end

      # Reads the configuration file only if the command line names no address.
      # @return [Config::Bind]
      # @raise [ConfigError]
      def address
        Watch::Address.find(@admin, @config)
      end

      private

      def declare
        declare_shared
        return if @command == "status"

        option("--interval S") do |text|
          @interval_s =
            within("--interval", text, INTERVAL_S, "a number of seconds") { Float(text) }
        end
        option("-n", "--count N") do |text|
          @count = within("-n", text, COUNT, "a whole number") { Integer(text, 10) }
        end
      end

      def declare_shared
        option("--admin URL") { |url| @admin = url }
        option("-C", "--config FILE") { |file| @config = file }
        option("--json") { @json = true }
      end

      def hint(word)
        return "write --admin #{word}" if word.include?("://")

        "an address goes with --admin, a configuration file with -C"
      end

      def one_of(name, text, words)
        return text if words.include?(text)

        raise ConfigError, "#{name} takes one of #{words.join(", ")}; got #{text.inspect}"
      end

      def within(name, text, range, kind)
        value = begin
          yield
        rescue ArgumentError
          nil
        end
        return value if value && range.cover?(value)

        raise ConfigError, "#{name} must be #{kind} from #{range.begin} to " \
                           "#{format("%d", range.end)}; got #{text.inspect}"
      end
    end
  end
end
