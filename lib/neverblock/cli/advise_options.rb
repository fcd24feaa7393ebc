# frozen_string_literal: true

# The command line of `neverblock advise`, and its --help.

require "neverblock/cli/watch_options"

module NeverBlock
  module CLI
    class AdviseOptions < WatchOptions
      KINDS = %w[sequential repeated pool no_limit].freeze
      LEAST_MS = (0.0..1e9)

      HELP = { "advise" => <<~TEXT }.freeze
        Usage: neverblock advise [options]

        What the requests of a running server waited for, and need not have: waits that came one
        after another although none used another's result, queries in a loop, pools that are too
        small, waits without a limit. Each with its lines, and with what would be saved.

        The server keeps a sample of its requests with the lines in which they waited. The code is
        read by this command: run it where the application's files are.

        #{WHERE}
            --kind KIND       only this: #{KINDS.join(", ")}
            --route TEXT      only requests whose method and path contain TEXT
            --least MS        only what saves as many milliseconds or more; default 5
            --json            for programs; docs/guides/advice.md has the fields
        -h, --help            show this help

        Exit status: 0, with and without advice; 1 when the server is not reachable, or is too old
        to know.

        Where it cannot be told from the code whether a wait needs another's result, there is no
        advice. Waits that change something (INSERT, POST) keep their order.

        Examples:
            neverblock --admin http://127.0.0.1:9293       start a server that tells
            neverblock advise --admin http://127.0.0.1:9293
            neverblock advise --kind repeated --least 20
            neverblock advise --json | jq '.advice[] | .title, .mend'
      TEXT

      # @return [Float] seconds
      attr_reader :least_s

      # As WatchOptions.
      def initialize(command, argv)
        @least_s = 0.005
        super
      end

      # @param advice [Hash] as in the document
      # @return [Boolean] whether it is to be shown
      def show?(advice)
        return false if @kind && advice["kind"] != @kind
        return true if @route.nil?

        Array(advice["requests"]).any? { |request| request.include?(@route) }
      end

      private

      def declare
        declare_shared
        option("--kind KIND") { |text| @kind = one_of("--kind", text, KINDS) }
        option("--route TEXT") { |text| @route = text }
        option("--least MS") do |text|
          ms = within("--least", text, LEAST_MS, "a number of milliseconds") { Float(text) }
          @least_s = ms / 1000.0
        end
      end
    end
  end
end
