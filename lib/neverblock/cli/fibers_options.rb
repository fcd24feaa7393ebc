# frozen_string_literal: true

# The command line of `neverblock fibers`, and its --help.

require "neverblock/cli/watch_options"

module NeverBlock
  module CLI
    class FibersOptions < WatchOptions
      STATES = %w[running ready waiting].freeze
      # Kinds of waits (core/intake/fiber_table.h).
      KINDS = %w[
        sleep lock condition queue thread fibers database http io file dns pool process client_body
        client connection offload other
      ].freeze
      AGES = (0.0..1e9)

      HELP = { "fibers" => <<~TEXT }.freeze
        Usage: neverblock fibers [options]

        What each request of a running server does now, the oldest first: its age, how long its
        code has run, what it waits for and since when, and the application's line. The server's
        native part answers, also while Ruby is stuck.

        #{WHERE}
            --backtrace       where each fiber is, line by line; made by the executors between two
                              turns, so that other requests hardly wait
            --query           show query strings too; they may hold secrets
            --route TEXT      only requests of this route, or whose path begins with TEXT
            --state STATE     only those that are running, ready or waiting
            --waits-for KIND  only those that wait for: #{KINDS.first(6).join(", ")},
                              #{KINDS[6, 9].join(", ")},
                              #{KINDS.drop(15).join(", ")}
            --older-than S    only requests that are older than S seconds
            --json            for programs; docs/guides/fibers.md has the fields
        -h, --help            show this help

        Exit status: 0; 1 when the server is not reachable, or is too old to know.

        ran       how long the fibers of the request have run, waits left out
        for       how long the wait lasts
        does      runs: has the processor; ready to run: others run before it; stalls in: runs for
                  so long that others wait (guides/stalls.md); waits for: what must come first
        line      the innermost line of the application, or of a gem: of a wait that lasts longer
                  than 0.1 s, of a stall, and with --backtrace of every wait

        Examples:
            neverblock --admin http://127.0.0.1:9293       start a server that tells
            neverblock fibers --admin http://127.0.0.1:9293
            neverblock fibers --waits-for lock --backtrace
            neverblock fibers --older-than 5 --json | jq '.fibers[].waits_for'
      TEXT

      # @return [Boolean]
      attr_reader :backtrace, :query

      # As WatchOptions.
      def initialize(command, argv)
        @backtrace = @query = false
        super
      end

      # @param row [Watch::FiberRow]
      # @return [Boolean] whether it is to be shown
      def show?(row)
        return false if @state && row.state != @state
        return false if @kind && row.kind != @kind
        return false if @older_s && (row.age_s || row.waits_s || 0) <= @older_s

        @route.nil? || of_route?(row.document)
      end

      private

      def declare
        declare_shared
        option("--backtrace") { @backtrace = true }
        option("--query") { @query = true }
        option("--route TEXT") { |text| @route = text }
        option("--state STATE") { |text| @state = one_of("--state", text, STATES) }
        option("--waits-for KIND") { |text| @kind = one_of("--waits-for", text, KINDS) }
        option("--older-than S") do |text|
          @older_s = within("--older-than", text, AGES, "a number of seconds") { Float(text) }
        end
      end

      def of_route?(document)
        document.text("route") == @route || document.text("path").to_s.start_with?(@route)
      end
    end
  end
end
